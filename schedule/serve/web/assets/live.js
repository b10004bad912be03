// Makes a page live: when something has changed it asks for the page again, and puts what is new in the place of what was there. It
// takes no focus, no typing, no open dialog or detail, no selected text, and it moves nothing that was scrolled. Without it pages show
// what was when they were loaded, and all of their links and forms work.
"use strict";
const base = document.currentScript.dataset.base;

// busy reports whether a part is in use, so that it must stay as it is.
function busy(part) {
  const at = document.activeElement;
  const selection = getSelection();
  return part.querySelector("dialog:is([open], :popover-open), .pick:checked") !== null ||
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

let asking = false, again = false, gone = false;
async function refresh() {
  if (document.hidden) { again = true; return; }
  if (asking) { again = true; return; }
  asking = true; again = false;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    gone = answer.status === 404; // another tab, or somebody else, has deleted the task
    if (answer.redirected) { tell({ signIn: true }); return; } // what was typed stays
    if (answer.ok) {
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-live]")) {
        const other = fresh.getElementById(part.id);
        if (other) replace(part, document.adoptNode(other));
      }
      if (!document.getElementById("log") && fresh.getElementById("log")) location.reload();
      localTimes();
    }
  } catch { /* the server is away: see connect */ } finally {
    asking = false;
    say();
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

// offerZone adds the zone of the browser to the zones that times can be shown in.
function offerZone() {
  const button = document.getElementById("zone-here"), zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!button || !zone || zone === "UTC") return;
  let offered = [...document.querySelectorAll("#zone button[name=zone]")].find(one => one !== button && one.firstChild.data.trim() === zone);
  if (!offered) {
    offered = button;
    button.value = zone;
    button.hidden = false;
    button.append(zone + " ", document.createElement("small"));
  }
  const of = offered.querySelector("small");
  of.append((of.textContent ? ", " : "") + "of this browser");
}

// The dialogs are popovers for browsers without scripts. Here they are modal: the focus goes in, stays in, and comes back to the button.
document.addEventListener("click", event => {
  const button = event.target.closest("button[popovertarget]");
  if (button) {
    event.preventDefault();
    const dialog = document.getElementById(button.getAttribute("popovertarget"));
    if (dialog.open) dialog.close(); else dialog.showModal();
  } else if (event.target.matches("dialog")) {
    const box = event.target.getBoundingClientRect();
    if (event.clientX < box.left || event.clientX > box.right || event.clientY < box.top || event.clientY > box.bottom) event.target.close();
  }
});

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

// follow appends what a run prints, while the page is visible, and stays at the end where the reader is there.
function follow(log) {
  let offset = log.dataset.follow, stream;
  const atEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  const open = () => {
    stream?.close();
    if (document.hidden || offset === undefined) return;
    stream = new EventSource(`${base}/api/v1/runs/${log.dataset.run}/log/stream?offset=${offset}`);
    stream.addEventListener("log", event => {
      const stay = atEnd();
      offset = event.lastEventId;
      append(log, JSON.parse(event.data).text);
      if (stay) log.scrollTop = log.scrollHeight;
    });
    stream.addEventListener("end", () => { offset = undefined; stream.close(); later(); });
  };
  document.addEventListener("visibilitychange", open);
  open();
}

// A browser has one stream of events, whatever its number of tabs: it makes six connections to a server at most, and with a stream in
// each of six tabs the seventh would wait for ever. Of the visible pages, the one with the lock has the stream, and tells the others by
// the channel. A page without locks, which has come by http from another machine, has a stream of its own while it is visible.
const channel = new BroadcastChannel("sched " + base);
const known = { lost: 0, signIn: false, heard: Date.now(), server: "", restarted: 0 };
let stream = null, retry = 0, quit = null;

// tell takes a part of what is known, for this page and for the others. changed: they ask for themselves again.
function tell(news) {
  channel.postMessage(news);
  take(news);
}

function take({ changed, ...news }) {
  if (news.server && known.server && news.server !== known.server) known.restarted = Date.now();
  Object.assign(known, news);
  if (changed) {
    known.heard = Date.now();
    later();
  }
  say();
}

channel.onmessage = ({ data }) => {
  if (!data.hello) take(data);
  else if (stream && known.server) channel.postMessage({ server: known.server, lost: known.lost, signIn: known.signIn });
};

function connect() {
  stream = new EventSource(`${base}/api/v1/events`);
  for (const name of ["ready", "reset"]) stream.addEventListener(name, event =>
    tell({ lost: 0, signIn: false, changed: known.server !== "", server: JSON.parse(event.data).server }));
  for (const name of ["run", "tick", "pauses", "waiting", "schedule"]) stream.addEventListener(name, () => tell({ changed: true }));
  stream.addEventListener("error", async () => {
    const failed = stream;
    if (!known.lost) tell({ lost: Date.now() });
    if (failed.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
    await refresh(); // it is sent to the form when the session is over
    if (stream === failed) retry = setTimeout(connect, known.signIn ? 10000 : 2000);
  });
}

// attend waits for the lock and connects, while the page is visible.
function attend() {
  quit?.();
  quit = null;
  if (document.hidden) return;
  let end;
  const held = new Promise(done => { end = done; }), waits = new AbortController();
  const begin = () => { connect(); return held; };
  quit = () => {
    waits.abort();
    clearTimeout(retry);
    stream?.close();
    stream = null;
    end();
  };
  if (navigator.locks) navigator.locks.request("sched " + base, { signal: waits.signal }, begin).catch(() => {});
  else begin();
  channel.postMessage({ hello: true });
}

// say says in the head of the page whether it shows what is so now.
function say() {
  const place = document.getElementById("live");
  if (!place) return;
  const sinceThen = at => { // no time of day, which would be in the zone of the browser
    const seconds = Math.round((Date.now() - at) / 1000);
    return seconds < 120 ? seconds + " s" : Math.round(seconds / 60) + " min";
  };
  const text = known.signIn ? "sign in again" : known.lost ? "not connected for " + sinceThen(known.lost) : gone ? "not there any more" :
    `live · ${sinceThen(known.heard)} ago` + (known.restarted ? ` · server restarted ${sinceThen(known.restarted)} ago` : "");
  place.className = known.signIn || known.lost || gone ? "bad" : "";
  if (place.textContent === text) return;
  place.textContent = text;
  if (!known.signIn) return;
  const link = document.createElement("a");
  link.href = base + "/login";
  link.textContent = text;
  place.replaceChildren(link);
}

const log = document.getElementById("log");
if (log && !location.hash) log.scrollTop = log.scrollHeight; // else to the line of the address
if (log?.dataset.follow) follow(log);
localTimes();
offerZone();
if (document.querySelector("[data-live]")) {
  setInterval(() => { if (document.querySelector(".badge.live")) later(); }, 10000); // how long it has been running
  setInterval(say, 1000);
  document.addEventListener("visibilitychange", () => {
    attend();
    if (!document.hidden) later(); // nobody may have listened meanwhile
  });
  addEventListener("pagehide", () => quit?.());
  addEventListener("pageshow", event => { if (event.persisted) { attend(); later(); } });
  attend();
  say();
}
