// Dialogs and notices. What loses work is confirmed, with what will be lost.

import { h, button } from "./dom.js";

export function askPerson({ title, body, yes, kind = "primary", field = null }) {
  return new Promise((answered) => {
    const input = field ? h("textarea", { rows: 3, placeholder: field, "aria-label": field }) : null;
    const dialog = h(
      "dialog",
      { "aria-label": title },
      h("form", { method: "dialog" }, h("h2", null, title), h("div", { class: "dialog-body" }, body), input, h("div", { class: "buttons" }, button("Back", "Esc", () => dialog.close("")), h("button", { class: "button " + kind, value: "yes", type: "submit" }, yes))),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      answered(dialog.returnValue === "yes" ? { text: input?.value ?? "" } : null);
    });
    document.body.append(dialog);
    dialog.showModal();
    (input ?? dialog.querySelector("button[value=yes]")).focus();
  });
}

export function popUp(title, body) {
  const dialog = h("dialog", { "aria-label": title }, h("h2", null, title), h("div", { class: "dialog-body" }, body), h("div", { class: "buttons" }, button("Close", "Esc", () => dialog.close())));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

let notice = null;

export function say(words, isBad = false, stays = isBad) {
  notice?.remove();
  notice = h("div", { class: isBad ? "notice bad" : "notice", role: "status" }, words, h("button", { type: "button", class: "link", onclick: () => notice.remove() }, "close"));
  document.body.append(notice);
  const own = notice;
  if (!stays) setTimeout(() => own.remove(), 6000);
}

export async function trying(act) {
  try {
    return await act();
  } catch (error) {
    say(error.message, true);
    return null;
  }
}
