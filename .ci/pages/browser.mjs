// Debian's chromium, and what several checks do with it.

import { chromium } from "playwright-core";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const flags = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

// sizes are the windows that pages are looked at in.
export const desk = { width: 1200, height: 800 };
export const phone = { width: 390, height: 844 };

export async function launch() {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, chromiumSandbox: false, args: flags });
  console.log("chromium " + browser.version());
  return browser;
}

// window opens a window of somebody who has signed in, and notes what its pages say is wrong.
export async function open(browser, { state, ...options }) {
  const context = await browser.newContext({ viewport: desk, storageState: state, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000); // long for a slow machine
  page.wrong = [];
  page.on("pageerror", error => page.wrong.push(String(error)));
  page.on("console", message => { if (message.type() === "error") page.wrong.push(message.text()); });
  return page;
}

// marked marks the document, and returns a function that checks that it was not loaded again since.
export async function marked(page) {
  await page.evaluate(() => { window.marked = true; });
  return async () => assert.equal(await page.evaluate(() => window.marked), true, "the page was loaded again");
}

export async function noSidewaysScroll(page, where) {
  const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= window, `${where} is ${wide} wide in a window of ${window}`);
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// accessible has axe find nothing. The policy of the pages lets no script in, so it comes by the debugger.
export async function accessible(page, where) {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const result = await window.axe.run(document);
    return result.violations.map(v => ({ rule: v.id, help: v.help, nodes: v.nodes.map(n => n.html.slice(0, 200)) }));
  });
  assert.ok(found.length === 0, `axe finds in ${where}: ${JSON.stringify(found, null, 1).slice(0, 2000)}`);
}
