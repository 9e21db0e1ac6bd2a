"""What a person decides with a key: asked again where work would be lost, then carried out by `rawko.app`."""
