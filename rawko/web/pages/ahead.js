// Asks for what the first screen of a run needs while the script of all screens is still being read. It is a file of its
// own, without imports, and is in that script once more, where it finds that it has asked already.

const SECRET = "rawko-secret";
const PART = 100;
const page = document.documentElement.dataset;
globalThis.rawkoAhead ??= askAhead();

// The answer that was asked for before anybody wanted it: a promise of a Response, once; undefined where there is none.
export function answered(path) {
  const found = globalThis.rawkoAhead.get(path);
  globalThis.rawkoAhead.delete(path);
  return found;
}

// What the first screen of a run shows: the steps around the one of the address, else the latest ones.
export function firstSteps(wanted) {
  return wanted ? `?after=${Math.max(wanted - PART / 2, 0)}&most=${PART}` : `?last=${PART}`;
}

// The secret of the link, which is then taken out of the address; else the one that an earlier link has brought.
export function takeSecret() {
  const found = /^#secret=([\w-]+)/.exec(location.hash);
  if (found) {
    history.replaceState(null, "", location.pathname + "#" + location.hash.slice(found[0].length).replace(/^&/, ""));
    keepSecret(found[1]);
    return found[1];
  }
  try {
    return localStorage.getItem(SECRET) ?? "";
  } catch {
    return globalThis.rawkoSecret ?? "";
  }
}

function keepSecret(text) {
  globalThis.rawkoSecret = text;
  try {
    localStorage.setItem(SECRET, text);
  } catch {
    // storage is switched off: the secret holds for this tab
  }
}

function askAhead() {
  const asked = new Map();
  if (document.getElementById("report-data") || page.shows === "actors") return asked;
  const secret = takeSecret();
  const [, run, step] = /^#\/?runs\/([^/]+)(?:\/(\d+))?/.exec(location.hash) ?? [];
  if (!run) return asked;
  const name = decodeURIComponent(run);
  for (const path of ["about", `runs/${name}`, `runs/${name}/steps${firstSteps(Number(step) || 0)}`]) {
    const answer = fetch("/api/" + path, { headers: { "X-Rawko-Secret": secret }, cache: "no-store" });
    answer.catch(() => undefined); // whoever takes it hears of it
    asked.set(path, answer);
  }
  return asked;
}
