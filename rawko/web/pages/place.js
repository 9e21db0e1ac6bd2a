// Where the page is: the address after `#`, so that a link is a view (run, step, tab).

export function here() {
  return location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodeURIComponent);
}

export function go(path) {
  location.hash = "#" + path;
}

// The same view, further on: no new entry in the history.
export function remember(path) {
  history.replaceState(null, "", "#" + path);
}
