// Checks the pages of `sched serve` in a browser: node check.mjs SCHED FOLDER [PHOTOS]. With a folder for photos it writes those of the
// docs there, and otherwise only that they can be taken is checked. It ends with 1 when a check fails, with a picture of what was seen.

import assert from "node:assert/strict";
import path from "node:path";
import { accessible, desk, launch, marked, noSidewaysScroll, open, phone } from "./browser.mjs";
import { photograph } from "./photos.mjs";
import { World, sleep } from "./world.mjs";

const [sched, folder, photos] = process.argv.slice(2);
const world = new World(sched, path.join(folder, "shop"));
let browser, state;
const failed = [];

// check runs one check in a window of its own; a check that hangs is ended by the bounds of what it waits for.
async function check(name, options, does) {
  if (state && process.env.ONLY && !new RegExp(process.env.ONLY).test(name)) return; // ONLY='dialog|keyboard' bash .ci/pages/run
  const begun = Date.now();
  const page = await open(browser, { state, ...options });
  try {
    await does(page);
    assert.deepEqual(page.wrong, [], "the page says what is wrong");
    console.log(`ok: ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed.push(name);
    console.log(`FAILED: ${name} at ${page.url()}\n${error.stack}`);
    await page.screenshot({ path: path.join(folder, `failed-${failed.length}.png`) }).catch(() => {});
  } finally {
    await page.context().close();
  }
}

// everyPage are the pages there are, with what each says.
function everyPage() {
  const good = world.records("invoices").find(r => r.outcome === "succeeded");
  const bad = world.records("invoices").find(r => r.outcome === "failed");
  const tried = world.records("search-index").find(r => r.attempts > 1);
  return [
    ["/tasks?sort=-last", "invoices"], ["/act?do=pause&task=newsletter", "its slots will be skipped"],
    ["/", "mirror/assets"], ["/tasks", "invoices"], ["/tasks?state=trouble", "mirror/assets"], ["/tasks?state=waiting", "partner-report"], ["/tasks?q=nothing+like+it", "No task is chosen"],
    ["/timeline?hours=6", "to come, as long as usual"], ["/timeline?q=feed", "price-feed"],
    ["/forecast", "Runs at once, by hour"], ["/forecast?since=2026-03-28&for=31d", "Apr"],
    ["/tasks/price-feed", "schedule.yaml"], ["/tasks/mirror%2Fassets", "timed out"], ["/tasks/old-sync", "switched off"],
    ["/runs", "succeeded"], ["/runs?q=exit+code&since=2026-03-02&task=invoices", "exit code 7"], ["/runs?outcome=skipped", "still running"], ["/runs?task=night-prices", "slots"], [`/runs/${world.waiting("stock-take")}`, "its turn"], [`/runs/${good.run}`, "order 1011"],
    [`/runs/${bad.run}`, "first error: line 7"], [`/runs/${bad.run}?q=order`, "5 lines with order"], [`/runs/${tried.run}`, "attempt 2"],
    ["/servers", "web-2"], ["/machine", "This machine"], ["/runs?all_servers=true", "web-2"], ["/runs?task=exchange-rates", "on web-2"], ["/pauses", "paused"], ["/audit", "prices were wrong"], ["/new", "Its keys"], ["/tasks/nix", "This did not work"],
  ];
}

const text = (page, selector) => page.locator(selector).innerText();

try {
  await world.history(95);
  await world.serve();
  browser = await launch();

  await check("a login link signs in, once", {}, async page => {
    await page.goto(world.link);
    await accessible(page, "the page to sign in");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(world.url + "/");
    state = await page.context().storageState();
    await page.goto(world.link);
    await page.getByRole("button", { name: "Sign in" }).click();
    assert.match(await text(page, "[role=alert]"), /was used before/);
    page.wrong.length = 0; // 401, as it should be
  });

  // Before the other checks, which pause tasks and trigger them.
  await check("photographs", {}, async () => photograph(browser, world, state, photos));

  await check("trigger, running, its log as it comes, succeeded, without reload", {}, async page => {
    await page.goto(world.url + "/tasks/rebuild");
    await page.getByRole("button", { name: "Trigger…" }).click();
    await page.getByRole("textbox", { name: "Reason" }).fill("prices were wrong");
    await page.getByRole("button", { name: "Trigger", exact: true }).click();
    await page.waitForURL(/\/runs\//);
    assert.match(await text(page, "main"), /(waiting|starting|running)[^]*prices were wrong/);
    const same = await marked(page);
    await page.locator("#run .badge", { hasText: "running" }).waitFor();
    await page.locator("#log", { hasText: "begun" }).waitFor();
    world.touch("go");
    await page.locator("#log", { hasText: "all done" }).waitFor();
    await page.locator("#run .badge", { hasText: "succeeded" }).waitFor();
    assert.equal(await page.locator("#log .f2").innerText().then(shown => shown.trim()), "all done", "the colour of what came as it came");
    await same();
    world.remove("go");
  });

  await check("a pause with a reason, and its end, in two windows", {}, async page => {
    const other = await page.context().newPage();
    await other.goto(world.url + "/pauses");
    const otherSame = await marked(other);
    await page.goto(world.url + "/tasks/newsletter");
    await page.getByRole("button", { name: "Pause…" }).click();
    await page.getByRole("combobox", { name: "How long" }).selectOption({ label: "for a week" });
    await page.getByRole("textbox", { name: "Reason" }).fill("the printer <b>rests</b>");
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await page.locator("#now", { hasText: "the printer <b>rests</b>" }).waitFor();
    await other.locator("#pauses", { hasText: "the printer <b>rests</b>" }).waitFor();
    await otherSame();
    const same = await marked(page);
    await other.getByRole("button", { name: "Resume" }).click();
    await other.locator("#pauses", { hasText: "Nothing is paused" }).waitFor();
    await page.locator("#now:not(:has-text('printer'))").waitFor();
    await page.locator("#buttons", { hasText: "Pause…" }).waitFor();
    await same();
  });

  await check("what is typed, focused and opened stays while events arrive", {}, async page => {
    await page.goto(world.url + "/tasks");
    const same = await marked(page);
    const before = await text(page, "#status");
    const search = page.getByRole("searchbox");
    await search.pressSequentially("price");
    await search.press("ArrowLeft");
    for (let waited = 0; await text(page, "#status") === before; waited += 100) { // a tick has come
      assert.ok(waited < 60_000, "nothing has changed");
      await sleep(100);
    }
    await search.pressSequentially("-");
    assert.equal(await search.inputValue(), "pric-e");
    assert.equal(await page.evaluate(() => document.activeElement.name), "q");
    await same();
    await page.goto(world.url + "/tasks/rebuild");
    await page.getByRole("button", { name: "Trigger…" }).click();
    await page.getByRole("textbox", { name: "Reason" }).fill("half a thou");
    world.run("trigger", "rebuild", "--in", "5h"); // beside the page
    await page.locator("#now", { hasText: "waiting" }).waitFor();
    assert.equal(await page.getByRole("textbox", { name: "Reason" }).inputValue(), "half a thou");
    assert.ok(await page.locator("#do-trigger").evaluate(e => e.open), "the dialog was closed");
  });

  await check("filters are links and forms, and are in the URL", {}, async page => {
    await page.goto(world.url + "/tasks");
    await page.getByRole("searchbox").fill("PRICE");
    await page.getByRole("searchbox").press("Enter");
    await page.waitForURL(/q=PRICE/);
    assert.deepEqual(await page.locator("tbody th[scope=row] > a").allInnerTexts(), ["price-feed", "night-prices"]);
    await page.goto(world.url + "/tasks?state=trouble");
    const rows = await page.locator("tbody th[scope=row] > a").allInnerTexts();
    assert.ok(rows.includes("mirror/assets") && !rows.includes("import-orders"), rows.join());
    await page.goto(world.url + "/timeline");
    await page.getByRole("searchbox").fill("feed");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.waitForURL(/timeline.*q=feed/);
    assert.deepEqual(await page.locator("tbody th[scope=row] > a").allInnerTexts(), ["price-feed"]);
  });

  await check("a forecast of another time, and from it to the timeline", { javaScriptEnabled: false }, async page => {
    await page.goto(world.url + "/forecast");
    assert.match(await text(page, "#forecast"), /at once\s+\d+ runs at most/);
    await page.getByLabel("From").fill("2026-03-29");
    await page.getByLabel("For").selectOption({ label: "a day" });
    await page.getByRole("button", { name: "Show" }).click();
    await page.waitForURL(/since=2026-03-29&for=1d/);
    assert.match(await text(page, "#forecast"), /Sun 2026-03-29 00:00 CET to Mon 2026-03-30 01:00 CEST/);
    const sunday = page.locator("table.heat tbody tr").first();
    assert.equal(await sunday.locator("td").nth(2).innerText(), "", "the hour that the clocks skip");
    await sunday.locator("td a").first().click();
    await page.waitForURL(/timeline\?hours=6/);
  });

  await check("without JavaScript: sign in, filter, pause, resume, trigger, sign out", { state: undefined, javaScriptEnabled: false }, async page => {
    await page.goto(world.url + "/");
    await page.getByLabel("Token").fill(world.token("operate", "bob"));
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("link", { name: "Tasks" }).click();
    await page.getByRole("searchbox").fill("thumb");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByRole("link", { name: "thumbnails", exact: true }).click();
    await page.getByRole("button", { name: "Pause…" }).click();
    await page.getByRole("textbox", { name: "Reason" }).fill("no script");
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    assert.match(await text(page, "#now"), /paused[^]*bob[^]*no script/);
    await page.getByRole("button", { name: "Resume…" }).click();
    await page.getByRole("button", { name: "Resume", exact: true }).click();
    assert.doesNotMatch(await text(page, "#now"), /paused/);
    await page.getByRole("button", { name: "Trigger…" }).click();
    await page.getByRole("button", { name: "Trigger", exact: true }).click();
    assert.match(await text(page, "#run"), /waiting|starting|running|succeeded/);
    await page.getByRole("button", { name: "Sign out" }).click();
    assert.match(page.url(), /\/login$/);
  });

  await check("several tasks at once, without JavaScript", { javaScriptEnabled: false }, async page => {
    await page.goto(world.url + "/tasks?sort=name");
    for (const name of ["sitemap", "weekend-report"]) await page.getByRole("checkbox", { name: "choose " + name }).check();
    await page.getByRole("button", { name: "Pause…" }).click();
    assert.match(await text(page, "main"), /Pause 2 tasks[^]*sitemap will not start[^]*weekend-report will not start/);
    await page.getByRole("textbox", { name: "Reason" }).fill("two at once");
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    assert.match(page.url(), /\/tasks\?sort=name$/);
    await page.goto(world.url + "/act?do=resume&task=sitemap&task=weekend-report");
    await page.getByRole("button", { name: "Resume", exact: true }).click();
    await page.goto(world.url + "/pauses");
    assert.doesNotMatch(await text(page, "main"), /two at once/);
  });

  for (const javaScriptEnabled of [true, false]) {
    await check(`a task is made, and deleted again${javaScriptEnabled ? "" : ", without JavaScript"}`, { javaScriptEnabled }, async page => {
      await page.goto(world.url + "/tasks");
      await page.getByRole("link", { name: "New task" }).click();
      await page.getByLabel("Name").fill("made/here");
      await page.getByLabel("Its keys").fill("every: day at 9:00\ncomand: 'true'\n");
      await page.getByRole("button", { name: "Show what changes" }).click();
      assert.match(await text(page, "main"), /Line 2[^]*did you mean/);
      await page.getByLabel("Its keys").fill("every: day at 9:00\ncommand: 'true'\n");
      await page.getByRole("button", { name: "Show what changes" }).click();
      assert.match(await text(page, "main"), /\+every: day at 9:00[^]*09:00:00/);
      if (javaScriptEnabled) await accessible(page, "a draft");
      await page.getByRole("textbox", { name: "Reason" }).fill("a try");
      await page.getByRole("button", { name: "Save" }).click();
      await page.waitForURL(/tasks\/made%2Fhere$/);
      await page.getByRole("link", { name: "Edit", exact: true }).click();
      assert.match(await page.getByLabel("Its keys").inputValue(), /^every: day at 9:00\n/);
      await page.goBack();
      await page.getByRole("button", { name: "Delete…" }).click();
      await page.getByRole("button", { name: "Delete", exact: true }).click();
      await page.waitForURL(/tasks$/);
      page.wrong = page.wrong.filter(one => !one.includes("404")); // the page of the task may have asked for itself once more
    });
  }

  await check("a task that somebody else changed meanwhile is not overwritten", {}, async page => {
    await page.goto(world.url + "/new");
    await page.getByLabel("Name").fill("../nix");
    await page.getByRole("button", { name: "Show what changes" }).click();
    assert.match(await text(page, "[role=alert]"), /cannot be a name/);
    await page.getByLabel("Name").fill("shared");
    await page.getByRole("button", { name: "Show what changes" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.waitForURL(/tasks\/shared$/);
    const other = await page.context().newPage();
    for (const [one, hour] of [[page, 8], [other, 7]]) {
      await one.goto(world.url + "/tasks/shared/edit");
      await one.getByLabel("Its keys").fill(`every: day at ${hour}:00\ncommand: 'true'\n`);
    }
    for (const one of [page, other]) await one.getByRole("button", { name: "Show what changes" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.waitForURL(/tasks\/shared$/);
    await other.getByRole("button", { name: "Save" }).click();
    assert.match(await text(other, "[role=alert]"), /somebody has changed shared/);
    assert.match(world.read("schedule.d/shared.yaml"), /day at 8:00/);
    await other.goto(world.url + "/tasks/shared");
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.waitForURL(/tasks$/);
    await other.locator("#live", { hasText: "not there any more" }).waitFor();
    page.wrong = page.wrong.filter(one => !one.includes("404"));
  });

  for (const javaScriptEnabled of [true, false]) {
    const [zone, shown] = javaScriptEnabled ? ["Asia/Tokyo", "JST"] : ["UTC", "UTC"];
    await check(`times in the zone ${zone}${javaScriptEnabled ? " of the browser" : ", without JavaScript"}`, { javaScriptEnabled, timezoneId: "Asia/Tokyo" }, async page => {
      await page.goto(world.url + "/tasks?q=price-feed");
      assert.match(await text(page, "#tasks time >> nth=0"), /CET/);
      await page.getByRole("button", { name: "Times in Europe/Berlin" }).click();
      if (javaScriptEnabled) await accessible(page, "the choice of a zone");
      await page.getByRole("button", { name: zone }).click();
      await page.waitForURL(/q=price-feed/);
      await page.getByRole("button", { name: "Times in " + zone }).waitFor();
      for (const at of ["/tasks?q=price-feed", "/runs?task=price-feed", "/tasks/price-feed", "/audit"]) {
        await page.goto(world.url + at);
        const times = await page.locator("main time").allInnerTexts();
        assert.ok(times.length > 0 && times.every(time => time.endsWith(" " + shown)), `${at} has ${times.join(", ")}`);
      }
    });
  }

  await check("a dialog takes the focus, keeps it, and gives it back", {}, async page => {
    await page.goto(world.url + "/tasks/newsletter");
    const opener = page.getByRole("button", { name: "Pause…" }), dialog = page.locator("#do-pause");
    const at = () => page.evaluate(() => document.activeElement.closest("dialog")?.id ?? document.activeElement.innerText.trim());
    await opener.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.name), "end");
    const seen = new Set();
    for (let n = 0; n < 12; n++) {
      await page.keyboard.press("Tab");
      seen.add(await page.evaluate(() => document.activeElement === document.body) || await at()); // after the last one come the buttons of the browser
    }
    assert.deepEqual([...seen].filter(one => one !== true), ["do-pause"]);
    await page.keyboard.press("Escape");
    assert.equal(await at(), "Pause…");
    await opener.click();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    assert.equal(await at(), "Pause…");
    await opener.click();
    await page.mouse.click(5, 400);
    await dialog.waitFor({ state: "hidden" });
    assert.equal(await at(), "Pause…");
  });

  await check("by keyboard alone", {}, async page => {
    await page.goto(world.url + "/tasks");
    const focused = () => page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.name);
    const tabTo = async what => {
      for (let n = 0; await focused() !== what; n++) {
        assert.ok(n < 40, `the tab key does not reach ${what}`);
        await page.keyboard.press("Tab");
      }
    };
    await page.keyboard.press("Tab");
    assert.equal(await focused(), "To the content");
    await tabTo("q");
    await page.keyboard.type("newsletter");
    await page.keyboard.press("Enter");
    await page.waitForURL(/q=newsletter/);
    await tabTo("newsletter");
    await page.keyboard.press("Enter");
    await page.waitForURL(/tasks\/newsletter/);
    await tabTo("Trigger…");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    assert.equal(await focused(), "Trigger…", "after the dialog was left");
    await page.keyboard.press("Enter");
    await tabTo("reason");
    await page.keyboard.type("by hand");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/runs\//);
    assert.match(await text(page, "#facts"), /by hand/);
  });

  await check("every page says what there is, and axe finds nothing", {}, async page => {
    for (const [at, says] of everyPage()) {
      await page.goto(world.url + at);
      assert.match(await text(page, "main"), new RegExp(says.replace(/[.*+?()]/g, "\\$&")), at);
      await accessible(page, at);
      await noSidewaysScroll(page, at);
    }
    page.wrong = page.wrong.filter(one => !one.includes("404"));
  });

  for (const [name, options] of [["dark", { colorScheme: "dark" }], ["as wide as a phone", { viewport: phone, isMobile: true, hasTouch: true, colorScheme: "dark" }]]) {
    await check(name, options, async page => {
      for (const [at] of everyPage()) {
        await page.goto(world.url + at);
        await accessible(page, `${at}, ${name}`);
        await noSidewaysScroll(page, at);
      }
      const ground = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
      assert.ok(ground.match(/\d+/g).every(part => part < 60), `the ground is ${ground}`);
      page.wrong = page.wrong.filter(one => !one.includes("404"));
    });
  }

  await check("a dialog on a phone", { viewport: phone }, async page => {
    await page.goto(world.url + "/tasks/mirror%2Fassets");
    await page.getByRole("button", { name: "Pause…" }).click();
    await accessible(page, "a dialog");
    await noSidewaysScroll(page, "a dialog");
  });

  await check("a schedule that an edit broke is said on every page, and not when it is right again", {}, async page => {
    const right = world.read("schedule.yaml");
    await page.goto(world.url + "/");
    const same = await marked(page);
    world.write("schedule.yaml", right + "  - {name: broken\n");
    await page.locator("#problems", { hasText: "The schedule is invalid" }).waitFor();
    await accessible(page, "with an invalid schedule");
    world.write("schedule.yaml", right);
    await page.locator("#problems:not(:has-text('invalid'))").waitFor({ state: "attached" });
    await same();
  });

  await check("eight tabs have one stream, and all of them are live", {}, async page => {
    await page.context().addInitScript(() => {
      const Real = EventSource, all = [];
      window.streams = () => all.filter(one => one.readyState !== Real.CLOSED).length;
      window.EventSource = class extends Real { constructor(url) { super(url); all.push(this); } static CLOSED = Real.CLOSED; };
      window.hide = hidden => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      };
    });
    const tabs = [page];
    while (tabs.length < 8) tabs.push(await page.context().newPage());
    const streams = async () => (await Promise.all(tabs.map(tab => tab.evaluate(() => window.streams())))).reduce((a, b) => a + b);
    const become = async wanted => {
      for (let waited = 0; await streams() !== wanted; waited += 100) {
        assert.ok(waited < 20_000, `there are ${await streams()} streams, not ${wanted}`);
        await sleep(100);
      }
    };
    for (const tab of tabs) await tab.goto(world.url + "/pauses");
    for (const tab of tabs) await tab.locator("#live", { hasText: /^live · \d+ s ago/ }).waitFor();
    world.run("pause", "newsletter", "--reason", "for all tabs");
    for (const tab of tabs) await tab.locator("#pauses", { hasText: "for all tabs" }).waitFor();
    await become(1);
    await tabs.shift().close(); // it has the stream: another one takes over
    world.run("resume", "newsletter");
    for (const tab of tabs) await tab.locator("#pauses", { hasText: "Nothing is paused" }).waitFor();
    for (const tab of tabs.slice(1)) await tab.evaluate(() => window.hide(true));
    await become(1); // the visible one has it
    await tabs[0].evaluate(() => window.hide(true));
    await become(0);
    await tabs[3].evaluate(() => window.hide(false));
    await become(1);
  });

  await check("a page says that the server is away, that it was restarted, and that one has to sign in again", {}, async page => {
    await page.goto(world.url + "/tasks");
    await page.locator("#live", { hasText: "live" }).waitFor();
    const same = await marked(page);
    await page.getByRole("searchbox").fill("half a tho");
    await world.stopServing();
    await page.locator("#live", { hasText: /not connected for \d+ s/ }).waitFor();
    await world.serveAgain();
    await page.locator("#live", { hasText: /live.*server restarted/ }).waitFor();
    await page.context().clearCookies();
    await page.locator("#live", { hasText: "sign in again" }).waitFor();
    assert.equal(await page.getByRole("searchbox").inputValue(), "half a tho");
    await same();
    page.wrong.length = 0; // the browser says that nobody answered
  });

  await check("the first page of several schedules is live", {}, async page => {
    await page.goto(await world.several());
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("#schedules", { hasText: /shop[^]*side[^]*no tick ever came/i }).waitFor();
    await accessible(page, "the first page of several schedules");
    await page.locator("#live", { hasText: /^live/ }).waitFor();
    await sleep(1500); // the server has looked for the first time
    const same = await marked(page);
    world.run("run", "-c", "side/schedule.yaml", "--quiet");
    await page.locator("#schedules:not(:has-text('no tick ever came'))").waitFor();
    await same();
    await page.context().clearCookies();
    await page.locator("#live", { hasText: "sign in again" }).waitFor();
    page.wrong.length = 0;
  });
} catch (error) {
  failed.push("the check itself");
  console.log(error);
} finally {
  await browser?.close();
  await world.stop();
}
if (failed.length > 0) {
  console.log(`${failed.length} failed: ${failed.join("; ")}`);
  process.exit(1);
}
