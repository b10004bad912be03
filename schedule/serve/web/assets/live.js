// Makes a page live: when something has changed it asks for the page again, and puts what is new in the place of what was there. It
// takes no focus, no typing, no open dialog or detail, no selected text, and it moves nothing that was scrolled. Without it pages show
// what was when they were loaded, and all of their links and forms work.
"use strict";
const base = document.currentScript.dataset.base;

// busy reports whether a part is in use, so that it must stay as it is.
function busy(part) {
  const at = document.activeElement;
  const selection = getSelection();
  return part.querySelector(":popover-open, .pick:checked") !== null ||
    part.contains(at) && /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName) ||
    !selection.isCollapsed && part.contains(selection.anchorNode);
}

// replace puts a new part in the place of an old one, with the same details open, the same link focused, scrolled as far.
function replace(old, fresh) {
  if (busy(old) || same(old, fresh)) return;
  for (const detail of old.querySelectorAll("details[open][id]")) fresh.querySelector("#" + detail.id)?.setAttribute("open", "");
  const at = old.contains(document.activeElement) ? document.activeElement : null;
  const links = part => [...part.querySelectorAll("a, button")];
  const name = at && (at.getAttribute("href") || at.getAttribute("popovertarget"));
  const nth = at ? links(old).filter(one => name === (one.getAttribute("href") || one.getAttribute("popovertarget"))).indexOf(at) : 0;
  const left = old.querySelector(".wide")?.scrollLeft;
  old.replaceWith(fresh);
  if (left) fresh.querySelector(".wide").scrollLeft = left;
  if (at) links(fresh).filter(one => name === (one.getAttribute("href") || one.getAttribute("popovertarget")))[Math.max(0, nth)]?.focus({ preventScroll: true });
}

// same reports whether two parts show the same: each form has a key of its own, which nobody sees.
function same(a, b) {
  const shown = part => part.innerHTML.replace(/name="key" value="[^"]*"/g, "").replace(/ title="[^"]*"/g, "");
  return shown(a) === shown(b);
}

let asking = false, again = false;
async function refresh() {
  if (document.hidden) { again = true; return; }
  if (asking) { again = true; return; }
  asking = true; again = false;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.redirected) { location.reload(); return; }
    if (answer.ok) {
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-live]")) {
        const other = fresh.getElementById(part.id);
        if (other) replace(part, document.adoptNode(other));
      }
      if (!document.getElementById("log") && fresh.getElementById("log")) location.reload();
      localTimes();
    }
  } catch { /* the server is away: the stream says when it is back */ } finally {
    asking = false;
    if (again) later();
  }
}

// later refreshes soon, once for all that changes at the same time.
let timer = 0;
function later() { if (!timer) timer = setTimeout(() => { timer = 0; refresh(); }, 300); }

// localTimes adds the browser's time to what is shown on hover.
function localTimes() {
  for (const time of document.querySelectorAll("time:not([data-local])")) {
    time.dataset.local = "";
    time.title += " · here " + new Date(time.dateTime).toLocaleString();
  }
}

// A form is sent once: its button is disabled until the page comes back from the browser's memory.
document.addEventListener("submit", event => {
  if (event.target.method !== "post") return;
  setTimeout(() => { for (const button of event.target.querySelectorAll("button")) button.disabled = true; });
});
addEventListener("pageshow", () => { for (const button of document.querySelectorAll("button:disabled")) button.disabled = false; });

// The colours of a log, as the server shows them.
let pen = {};
function colour(codes) {
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i];
    if (code === 0) pen = {};
    else if (code === 1) pen.bold = "bold";
    else if (code === 2) pen.dim = "dim";
    else if (code === 4) pen.under = "under";
    else if (code === 22) pen.bold = pen.dim = "";
    else if (code === 24) pen.under = "";
    else if (code >= 30 && code <= 37) pen.fore = "f" + (code - 30);
    else if (code >= 90 && code <= 97) pen.fore = "f" + (code - 82);
    else if (code === 39) pen.fore = "";
    else if (code >= 40 && code <= 47) pen.back = "b" + (code - 40);
    else if (code >= 100 && code <= 107) pen.back = "b" + (code - 92);
    else if (code === 49) pen.back = "";
    else if (code === 38 || code === 48) {
      const known = codes[i + 1] === 5 && codes[i + 2] < 16 ? codes[i + 2] : -1;
      pen[code === 38 ? "fore" : "back"] = known < 0 ? "" : (code === 38 ? "f" : "b") + known;
      i += codes[i + 1] === 5 ? 2 : codes[i + 1] === 2 ? 4 : codes.length;
    }
  }
}

const sequence = /\x1b\[([0-?]*)[ -/]*([@-~]?)|\x1b[\]P^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?/g;
function append(log, text) {
  const add = part => {
    const clean = part.replace(/\r\n?/g, "\n").replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "");
    if (!clean) return;
    const span = document.createElement("span");
    span.className = Object.values(pen).filter(Boolean).join(" ");
    span.textContent = clean;
    log.append(span);
  };
  let from = 0;
  for (const found of text.matchAll(sequence)) {
    add(text.slice(from, found.index));
    if (found[2] === "m") colour(found[1].split(/[;:]/).map(Number));
    from = found.index + found[0].length;
  }
  add(text.slice(from));
  while (log.childNodes.length > 4000) log.firstChild.remove();
}

// follow appends what a run prints, and stays at the end where the reader is there.
function follow(log) {
  const stream = new EventSource(`${base}/api/v1/runs/${log.dataset.run}/log/stream?offset=${log.dataset.follow}`);
  const atEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  log.scrollTop = log.scrollHeight;
  stream.addEventListener("log", event => {
    const stay = atEnd();
    append(log, JSON.parse(event.data).text);
    if (stay) log.scrollTop = log.scrollHeight;
  });
  stream.addEventListener("end", () => { stream.close(); later(); });
}

const log = document.getElementById("log");
if (log && !location.hash) log.scrollTop = log.scrollHeight; // else to the line of the address
if (log?.dataset.follow) follow(log);
localTimes();
if (document.querySelector("[data-live]")) {
  const events = new EventSource(`${base}/api/v1/events`);
  for (const name of ["run", "tick", "pauses", "waiting", "schedule", "reset"]) events.addEventListener(name, later);
  setInterval(() => { if (document.querySelector(".badge.live")) later(); }, 10000); // how long it has been running
  document.addEventListener("visibilitychange", () => { if (!document.hidden && again) later(); });
}
