// dashboard.mjs - one walk through the dashboard in a real browser, for dashboard.bats
//
// Usage: node dashboard.mjs WALK URL FOLDER
//
// Tokens come in $TOKEN, and $VIEWER where a walk needs another one.  FOLDER gets pictures.
// The process ends with 0 when everything was as it should be, and with no error on the
// browser's console but those a walk says it expects.
import { createRequire } from "node:module";
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const [walk, url, folder] = process.argv.slice(2);
const { TOKEN: token, VIEWER: viewer, BROWSER: browser = "/usr/bin/chromium" } = process.env;
const flags = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";
const pages = ["cluster", "jobs", "learning", "energy", "advice", "submit", "operate"];

let expected = null; // errors of the console that belong to the walk
const errors = [];

async function goTo(page, where) {
    await page.evaluate((hash) => (location.hash = hash), `#/${where}`);
    await page.waitForSelector("main h1");
}

async function signIn(page, secret = token) {
    await page.goto(`${url}/#token=${secret}`);
    await page.waitForSelector(".figures");
    assert.ok(!page.url().includes("token"), "the token stays in the address");
}

const text = async (page, selector) => (await page.innerText(selector)).replace(/\s+/g, " ");

// The figure of this label, once it is like that.
async function figure(page, label, like) {
    const found = page.locator(".figure", { has: page.locator(".label", { hasText: new RegExp(`^${label}$`) }) }).locator(".value").last();
    await found.filter({ hasText: like }).waitFor({ timeout: 20000 });
    return found.textContent();
}

// What the daemon answers to the one who is signed in.
const api = (page, path) =>
    page.evaluate(async (where) => (await fetch(where, { headers: { Authorization: `Bearer ${sessionStorage.getItem("corgi-token")}` } })).json(), path);

// ---- walks -------------------------------------------------------------------------------

const walks = {
    // Every page from a live daemon: its heading, figures in the bar, no width too much.
    async pages(page) {
        await signIn(page);
        for (const name of pages) {
            await goTo(page, name);
            assert.equal((await text(page, "main h1")).trim().toLowerCase(), name);
        }
        await goTo(page, "cluster");
        assert.equal(await page.locator(".cell").count(), 48);
        assert.ok((await page.locator(".cell.busy").count()) > 0, "no device is busy");
        assert.match(await text(page, "header"), /Power now .*W simulated, modelled/);
        await page.locator(".cell.busy").first().click();
        await page.waitForSelector(".drawer dt:has-text('Promised')");
        await page.waitForSelector(".drawer .decision");
        assert.match(await text(page, ".drawer"), /Who is here.*Promised.*Measured.*The last decision about it/);
        await page.keyboard.press("Escape");
        await page.waitForSelector(".drawer", { state: "detached" });
        await goTo(page, "jobs?state=running");
        await page.waitForSelector(".vbody .vrow");
        await page.locator(".vbody .vrow a").first().click();
        await page.waitForSelector("text=Rate over time");
        await page.waitForSelector(".chart canvas", { timeout: 20000 });
        assert.match(await text(page, "main"), /Where it was.*The band holds the rate.*Why.*start.*Output.*simulated: no program runs/);
        await goTo(page, "learning");
        await page.waitForSelector(".heat td");
        assert.match(await text(page, ".heat"), /alone/);
        await page.waitForSelector("[aria-label='What was learned this week'] tbody tr", { timeout: 20000 });
        await goTo(page, "advice");
        await page.waitForSelector(".empty:has-text('corgi advise')");
        await goTo(page, "energy");
        await page.waitForSelector(".barcell");
        assert.match(await text(page, "main"), /Against each job alone.*Cost.*EUR.*CO₂/);
    },

    // What corgi advise has published: the result, the days, who gains, how far to trust it.
    async advice(page) {
        await signIn(page);
        await goTo(page, "advice");
        await page.waitForSelector(".headline:has-text('Corgi would have')");
        await page.waitForSelector(".chart canvas");
        const said = await text(page, "main");
        assert.match(said, /as it ran .*Corgi .*Energy day by day.*Who gains, who loses.*grace.*GPUs that are hardly used.*alan.*How well the replay met reality/);
        const users = (await api(page, "/v1/advice")).published.advice.users;
        assert.equal(await page.locator("[aria-label='Who gains and who loses'] tbody tr").count(), users.length);
        for (const [width, height] of [[390, 844], [1440, 900]])
            for (const colorScheme of ["light", "dark"]) {
                await page.setViewportSize({ width, height });
                await page.emulateMedia({ colorScheme });
                await page.waitForTimeout(300);
                assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0);
                await page.screenshot({ path: join(folder, `advice-published-${width}-${colorScheme}.png`), fullPage: true });
            }
        await check(page, "advice");
        // What was saved can be had against a policy of that replay, too.
        await goTo(page, "energy");
        await page.selectOption("[name=against]", "fifo");
        await page.waitForSelector(".figure:has-text('by replay of')");
        assert.match(await figure(page, "Saved", /Wh/), /Wh \(.* to .*Wh\)/);
        assert.match(page.url(), /against=fifo/);
    },

    // A quote as one types, a promise or none, the job runs, its rate is measured.
    async submit(page) {
        await signIn(page);
        await goTo(page, "submit");
        await page.fill("[name=name]", "from-the-page");
        await page.fill("[name=family]", "CNN-CIFAR");
        await page.selectOption("[name=model]", "conv");
        await page.fill("[name=batch]", "128");
        await page.fill("[name=rate]", "1000000");
        await page.waitForSelector(".quote");
        await page.fill("[name=rate]", "2");
        await page.waitForSelector(".quote.good, .quote.open");
        assert.match(await text(page, ".quote"), /Expected rate.*Power.*Where/);
        await page.fill("[name=steps]", "1e6");
        await page.locator(".quote", { hasText: /Energy.*Ends about/ }).waitFor();
        await page.click("button[type=submit]");
        await page.waitForSelector("h1:has-text('from-the-page')");
        await page.waitForSelector(".state.running", { timeout: 20000 });
        assert.match(await figure(page, "Measured", /steps\/s/), /\d/);
        assert.match(await figure(page, "Where", /:/), /\w+:\d/);
    },

    // An operator drains a device and takes it back, previews and applies a policy; the audit
    // log has it.
    async operate(page) {
        await signIn(page);
        await goTo(page, "cluster?device=kepler-1:0");
        await page.click(".drawer >> text=Drain");
        await page.waitForSelector(".cell.drained[data-device='kepler-1:0']");
        await page.click(".drawer >> text=Use again");
        await page.waitForSelector(".cell.drained", { state: "detached" });
        await goTo(page, "operate");
        // What would come of it, before it is applied; another change makes it stale.
        const before = await api(page, "/v1/policy");
        await page.uncheck("[name=sleep]");
        await page.click("text=Preview");
        await page.waitForSelector(".preview >> text=/(more|times the) energy over 2 h/", { timeout: 30000 });
        assert.match(await text(page, ".preview"), /Energy [\d.]+ k?Wh [\d.]+ k?Wh/);
        assert.deepEqual(await api(page, "/v1/policy"), before, "a preview changed the policy");
        await page.check("[name=sleep]");
        await page.waitForSelector(".preview", { state: "detached" });
        await page.fill("[name=power_limit_watts]", "9000");
        await page.fill("[name=power_limit_hours]", "from seven to eight");
        assert.equal(await page.$eval("[name=power_limit_hours]", (e) => e.validity.valid), false, "no hours are meant by that");
        await page.waitForSelector("text=Apply 1 change");
        await page.fill("[name=power_limit_hours]", "00:00-24:00 8.5 kW");
        await page.click("text=Preview");
        await page.waitForSelector(".preview >> text=With the changes", { timeout: 30000 });
        await page.screenshot({ path: `${folder}/preview.png`, fullPage: true });
        await page.click("text=Apply 2 changes");
        await page.waitForSelector("text=Applied");
        await page.waitForSelector("text=Changed by");
        await page.waitForSelector("td:has-text('drain_device')");
        // A token for somebody, which is shown once and taken back.
        const me = (await api(page, "/v1/whoami")).user;
        await page.fill("[name=token_user]", me);
        await page.fill("[name=token_note]", "for a walk");
        await page.click("text=Make a token");
        await page.waitForSelector(".made code");
        assert.match(await page.textContent(".made code"), /^corgi-[0-9a-f]{16}-/);
        const row = page.locator("[aria-label=Tokens] tbody tr", { hasText: "for a walk" });
        await row.getByText("Revoke").click();
        await row.waitFor({ state: "detached" });
        await goTo(page, "energy");
        await page.waitForSelector("text=The power limit is 8.5 kW now: 00:00-24:00 8.5kW (UTC), else 9kW.", { timeout: 15000 });
    },

    // Without a token, with a wrong one, and with one that may look only.
    async rights(page) {
        expected = /status of 40[13]/;
        await page.goto(url);
        await page.waitForSelector(".signin");
        await page.fill("[name=token]", "corgi-0123456789abcdef-" + "A".repeat(43));
        await page.click("text=Sign in");
        await page.waitForSelector(".trouble:has-text('not valid')");
        await page.fill("[name=token]", viewer);
        await page.click("text=Sign in");
        await page.waitForSelector(".figures");
        await goTo(page, "operate");
        await page.waitForSelector("text=needs the role operator");
        assert.equal(await page.locator("main button").count(), 0);
        await goTo(page, "submit");
        await page.fill("[name=rate]", "2");
        await page.waitForSelector(".trouble:has-text('this needs user')");
        assert.ok(await page.locator("button[type=submit]").isDisabled());
        await page.click("text=Sign out");
        await page.waitForSelector(".signin");
    },

    // The daemon goes and comes back: the page says so, and is up to date.
    async restart(page) {
        expected = /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|status of 503/;
        await signIn(page);
        await page.waitForSelector(".cell");
        writeFileSync(join(folder, "ready"), "");
        await page.waitForSelector(".notice.lost:has-text('does not answer')", { timeout: 30000 });
        await page.waitForSelector(".notice:has-text('was restarted')", { timeout: 30000 });
        await goTo(page, "jobs");
        await page.waitForSelector("text=after-the-restart", { timeout: 15000 });
    },

    // Cells by arrow keys, the drawer by Enter; nothing is out of the keyboard's reach.
    async keyboard(page) {
        await signIn(page);
        await page.waitForSelector(".cell");
        await page.keyboard.press("Tab");
        assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
        await page.locator(".cell").first().focus();
        for (const key of ["ArrowRight", "ArrowRight", "ArrowDown"]) await page.keyboard.press(key);
        const name = await page.evaluate(() => document.activeElement.dataset.device);
        assert.match(name, /^pascal-1:2$/);
        await page.keyboard.press("Enter");
        await page.waitForSelector(`.drawer h2:has-text('${name}')`);
        await page.reload();
        await page.waitForSelector(`.drawer h2:has-text('${name}')`);
    },

    // More devices than elements can be: a canvas, the same keys, and a table of the same.
    async many(page) {
        await signIn(page);
        await page.waitForSelector("canvas.devices");
        assert.equal(await page.locator(".cell").count(), 0);
        await page.focus("canvas.devices");
        for (const key of ["ArrowDown", "ArrowRight", "Enter"]) await page.keyboard.press(key);
        assert.match(await text(page, ".told"), /^old-1:1, k80, /);
        await page.waitForSelector(".drawer h2:has-text('old-1:1')");
        await page.screenshot({ path: join(folder, "many-1440-light.png") });
        await check(page, "many devices");
        await page.click("text=Show as a table");
        await page.waitForSelector(".vbody .vrow");
        assert.equal(await page.getAttribute(".vtable", "aria-rowcount"), "401");
        assert.ok((await page.locator(".vbody .vrow").count()) < 60, "rows out of sight are elements");
    },

    // Pictures, and what axe finds: nothing serious.
    async looks(page) {
        await signIn(page);
        const job = await page.evaluate(async () => {
            const answer = await fetch("/v1/jobs?state=running&limit=1", { headers: { Authorization: `Bearer ${sessionStorage.getItem("corgi-token")}` } });
            return (await answer.json()).jobs[0].id;
        });
        for (const [width, height] of [[390, 844], [1440, 900]])
            for (const colorScheme of ["light", "dark"]) {
                await page.setViewportSize({ width, height });
                await page.emulateMedia({ colorScheme });
                for (const name of [...pages, `jobs/${job}`]) {
                    await goTo(page, name);
                    if (name === "submit") await page.fill("[name=rate]", "2");
                    await page.waitForTimeout(450);
                    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
                    assert.equal(wide, 0, `${name} is ${wide} px too wide at ${width}`);
                    await page.screenshot({ path: join(folder, `${name.replace(/\/.*/, "-page")}-${width}-${colorScheme}.png`), fullPage: true });
                    if ((width === 1440) === (colorScheme === "light")) await check(page, `${name} ${width} ${colorScheme}`);
                }
            }
    },
};

async function check(page, where) {
    if (!(await page.evaluate(() => typeof window.axe))?.includes("object")) await page.evaluate(axe);
    const found = await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }));
    const serious = found.violations.filter((v) => v.impact === "serious" || v.impact === "critical");
    assert.deepEqual(serious.map((v) => [where, v.id, v.nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary}`)]), []);
}

const profile = mkdtempSync(join(tmpdir(), "corgi-browser-"));
const context = await chromium.launchPersistentContext(profile, { executablePath: browser, headless: true, args: flags.split(" "), viewport: { width: 1440, height: 900 } });
try {
    context.setDefaultTimeout(25000); // a machine may have much else to do
    const page = context.pages()[0] ?? (await context.newPage());
    page.on("pageerror", (error) => errors.push(error.stack));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    try {
        await walks[walk](page);
    } catch (error) {
        await page.screenshot({ path: join(folder, `failed-${walk}.png`) }).catch(() => {});
        throw error;
    }
    assert.deepEqual(errors.filter((e) => !expected?.test(e)), []);
} finally {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
}
