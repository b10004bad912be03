// The photographs in the docs: what a newcomer sees.

import assert from "node:assert/strict";
import path from "node:path";
import { open, phone } from "./browser.mjs";

const shots = [
  { name: "pages-overview", at: "/", viewport: { width: 1100, height: 940 }, colorScheme: "light" },
  { name: "pages-tasks", at: "/tasks", viewport: { width: 1100, height: 560 }, colorScheme: "light" },
  { name: "pages-timeline", at: "/timeline?hours=6", viewport: { width: 1100, height: 500 }, colorScheme: "dark" },
  { name: "pages-forecast", at: "/forecast", viewport: { width: 1100, height: 640 }, colorScheme: "light" },
  { name: "pages-run", at: null, viewport: phone, colorScheme: "light" },
];

// photograph takes the photographs. Without a folder it only checks that there is something on them.
export async function photograph(browser, world, state, folder) {
  const failed = world.records("invoices").find(r => r.outcome === "failed");
  for (const { name, at, ...options } of shots) {
    const page = await open(browser, { state, ...options });
    await page.goto(world.url + (at ?? "/runs/" + failed.run));
    const picture = await page.screenshot({ path: folder && path.join(folder, name + ".png"), animations: "disabled" });
    assert.ok(picture.length > 10_000, `${name} has ${picture.length} bytes`);
    await page.context().close();
  }
}
