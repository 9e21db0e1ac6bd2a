"""Settings: one table of them, the files and variables that set them, and how these layers are merged.

The public names load on first use: the command line imports only the table, so it starts faster.
"""

from __future__ import annotations

from rawko.lazy_names import lazy_names

TYPE_CHECKING = False  # as in `typing`, whose import takes time

if TYPE_CHECKING:
    from rawko.config.agents import BUILT_IN_AGENTS as BUILT_IN_AGENTS
    from rawko.config.agents import TOOLS as TOOLS
    from rawko.config.agents import load_agents as load_agents
    from rawko.config.blocks import BashOptions as BashOptions
    from rawko.config.blocks import DefaultAnswers as DefaultAnswers
    from rawko.config.blocks import McpOptions as McpOptions
    from rawko.config.flags import Flags as Flags
    from rawko.config.instructions import MAX_INSTRUCTION_CHARS as MAX_INSTRUCTION_CHARS
    from rawko.config.loading import FOLDER as FOLDER
    from rawko.config.loading import load_settings as load_settings
    from rawko.config.loading import project_of as project_of
    from rawko.config.loading import wishes as wishes
    from rawko.config.models import file_model as file_model
    from rawko.config.models import record_model as record_model
    from rawko.config.models import schemas as schemas
    from rawko.config.option_changes import changed_by as changed_by
    from rawko.config.option_changes import with_model as with_model
    from rawko.config.places import share_state as share_state
    from rawko.config.places import state_dir as state_dir
    from rawko.config.settings import Headless as Headless
    from rawko.config.settings import ProviderName as ProviderName
    from rawko.config.settings import Settings as Settings
    from rawko.trust.errors import ConfigError as ConfigError

_HOMES = {
    "rawko.config.agents": ("BUILT_IN_AGENTS", "TOOLS", "load_agents"),
    "rawko.config.blocks": ("BashOptions", "DefaultAnswers", "McpOptions"),
    "rawko.config.models": ("file_model", "record_model", "schemas"),
    "rawko.config.flags": ("Flags",),
    "rawko.config.option_changes": ("changed_by", "with_model"),
    "rawko.config.instructions": ("MAX_INSTRUCTION_CHARS",),
    "rawko.config.loading": ("FOLDER", "load_settings", "project_of", "wishes"),
    "rawko.config.places": ("share_state", "state_dir"),
    "rawko.config.settings": ("Headless", "ProviderName", "Settings"),
    "rawko.trust.errors": ("ConfigError",),
}
__getattr__ = lazy_names(__name__, _HOMES)
