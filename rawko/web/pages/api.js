// Asks the server. The secret stands in the fragment of the link, which is not sent; it goes along as a header.
// A report (one file, no server) holds the answers itself.

const SECRET = "rawko-secret";
const island = document.getElementById("report-data");
const kept = island ? JSON.parse(island.textContent) : null;
let secret = takeSecret();

export const isOffline = kept !== null;

export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

function takeSecret() {
  const found = /^#secret=([\w-]+)/.exec(location.hash);
  if (found) {
    history.replaceState(null, "", location.pathname + "#" + location.hash.slice(found[0].length).replace(/^&/, ""));
    keepSecret(found[1]);
    return found[1];
  }
  try {
    return localStorage.getItem(SECRET) ?? "";
  } catch {
    return "";
  }
}

function keepSecret(text) {
  try {
    localStorage.setItem(SECRET, text);
  } catch {
    // storage is switched off: the secret holds for this tab
  }
}

// A link that was pasted into an open page brings the secret of a later start.
export function renewSecret() {
  const before = secret;
  secret = takeSecret();
  return secret !== before;
}

export async function get(path, signal) {
  if (kept) return fromReport(path);
  const answer = await ask(path, { signal });
  return answer.json();
}

export async function text(path) {
  if (kept) return fromReport(path);
  return (await ask(path, {})).text();
}

export async function post(path, given) {
  const answer = await ask(path, { method: "POST", body: JSON.stringify(given), headers: { "Content-Type": "application/json" } });
  return answer.json();
}

export async function ask(path, options) {
  const headers = { "X-Rawko-Secret": secret, ...options.headers };
  const answer = await fetch("/api/" + path, { ...options, headers, cache: "no-store" });
  if (answer.ok) return answer;
  let said = {};
  try {
    said = await answer.json();
  } catch {
    // no JSON: the status says enough
  }
  throw new Refused(answer.status, said.error ?? "", said.message ?? `the server answered ${answer.status}`);
}

// A drawing as a document. XMLHttpRequest parses it itself: no text is made markup by a script.
export function drawing(path) {
  if (kept) return Promise.resolve(document.getElementById("drawing-" + decodeURIComponent(path.split("/").pop()))?.content.firstElementChild.cloneNode(true));
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open("GET", "/api/" + path);
    request.setRequestHeader("X-Rawko-Secret", secret);
    request.responseType = "document";
    request.overrideMimeType("image/svg+xml");
    request.onload = () => {
      const root = request.response?.documentElement;
      if (request.status === 200 && root?.localName === "svg") done(document.importNode(root, true));
      else failed(new Refused(request.status, "refused", "the chart cannot be drawn"));
    };
    request.onerror = () => failed(new Refused(0, "offline", "the server does not answer"));
    request.send();
  });
}

function fromReport(path) {
  if (path in kept.answers) return kept.answers[path];
  const step = /^runs\/[^/]+\/(steps|moments)\/(\d+)$/.exec(path);
  const found = step && kept[step[1]]?.[step[2]];
  if (found) return found;
  if (path.includes("/diff?")) return { before: "", after: "", files: [], diff: "", chars: 0, is_cut: false };
  throw new Refused(404, "report", "This page is a report: it holds no more of this. `rawko serve` shows all of the run.");
}
