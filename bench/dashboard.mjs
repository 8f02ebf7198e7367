#!/usr/bin/env node
// dashboard.mjs - the dashboard with 2,000 GPUs and 10,000 jobs in a real browser
//
// Usage: node bench/dashboard.mjs BIN [JOBS [SECONDS]]
//
// Starts BIN/corgid with 250 simulated nodes of eight GPUs of five generations, submits the
// jobs, and lets every GPU tell its power once a second.  Prints JSON: when the cluster was
// first painted after the address was asked for (on the wall's clock: the load of the machine
// stands beside it), and the processor time of the page's main thread in a second, over SECONDS
// on the cluster's page and while ten thousand jobs are scrolled through.  Needs `npm ci` in web/
// and chromium.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";

const require = createRequire(new URL("../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const [bin, jobs = "10000", seconds = "20"] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "corgi-dashboard-"));
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// ---- the daemon ----------------------------------------------------------------------------

function ask(agent, method, path, body) {
    return new Promise((done, failed) => {
        const request = http.request({ socketPath: join(folder, "s"), method, path, agent, headers: body ? { "Content-Type": "application/json" } : {} }, (answer) => {
            let text = "";
            answer.on("data", (piece) => (text += piece));
            answer.on("end", () => done(JSON.parse(text)));
        });
        request.on("error", failed);
        request.end(body ? JSON.stringify(body) : undefined);
    });
}

const types = ["k80", "p100-16", "v100-16", "a100-40", "h100-sxm"];

function start() {
    const nodes = types.map((gpu) => `  - {name: ${gpu}-node, count: 50, gpu: ${gpu}, gpus: 8}`);
    writeFileSync(join(folder, "cluster.yaml"), `nodes:\n${nodes.join("\n")}\n`);
    writeFileSync(join(folder, "c.yaml"), `state: ${folder}/state
listen: {socket: ${folder}/s, tcp: "127.0.0.1:0"}
limits: {requests_per_second: 0}
sim: {cluster_file: ${folder}/cluster.yaml, speed: 10, power: 10s, measure: 300s}
`);
    const daemon = spawn(join(bin, "corgid"), ["--config", join(folder, "c.yaml")], { stdio: ["ignore", "ignore", "pipe"] });
    const port = new Promise((done, failed) => {
        let log = "";
        daemon.stderr.on("data", (piece) => {
            log += piece;
            const found = /listening.*port=(\d+)/.exec(log);
            if (found) done(Number(found[1]));
        });
        daemon.on("exit", () => failed(new Error(log)));
    });
    return { daemon, port };
}

async function submitAll(count) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
    const families = ["CNN-CIFAR", "LSTM", "Seq2Seq", "UNet", "PPO"];
    let next = 0;
    const client = async () => {
        while (next < count) {
            const i = next++;
            await ask(agent, "POST", "/v1/jobs", {
                name: `job-${i}`, total_steps: 1e9,
                descriptor: { family: families[i % 5], batch: 64 << (i % 3) },
                need: i % 3 ? { kind: "best_effort" } : { kind: "rate", rate: 1 },
            });
        }
    };
    await Promise.all(Array.from({ length: 8 }, client));
    return agent;
}

// ---- the browser ---------------------------------------------------------------------------

// Processor time of the main thread in a second: other load on the machine does not count.
async function busy(session, duration, meanwhile) {
    const read = async () => (await session.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value;
    const before = await read(), began = performance.now();
    while (performance.now() - began < duration * 1000) await meanwhile();
    const after = await read();
    return Number((((after - before) * 1000) / (performance.now() - began)).toFixed(3));
}

async function measure(url) {
    const flags = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";
    const context = await chromium.launchPersistentContext(join(folder, "profile"), { executablePath: "/usr/bin/chromium", headless: true, args: flags.split(" "), viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    await page.addInitScript(() => {
        const look = () => (document.querySelector("canvas.devices")?.height > 200 ? requestAnimationFrame(() => (window.painted = performance.now())) : requestAnimationFrame(look));
        requestAnimationFrame(look);
    });
    const paints = [];
    for (let i = 0; i < 3; i++) {
        await page.goto("about:blank");
        await page.goto(url, { waitUntil: "commit" });
        await page.waitForSelector("canvas.devices", { timeout: 30000 });
        await pause(1500);
        paints.push(Math.round(await page.evaluate(() => window.painted)));
    }
    await pause(8000);
    const session = await context.newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const result = { first_paint_ms: paints, cluster_busy_share: await busy(session, Number(seconds), () => pause(500)) };
    const devices = await page.evaluate(() => document.querySelector("canvas.devices").getAttribute("aria-label"));
    await page.evaluate(() => (location.hash = "#/jobs"));
    await page.waitForSelector(".vbody .vrow");
    result.jobs_scrolled_busy_share = await busy(session, Number(seconds), async () => {
        await page.evaluate(() => document.querySelector(".vbody").scrollBy(0, 3400));
        await pause(100);
    });
    result.devices = devices.match(/[\d,]+/)[0];
    result.jobs_loaded = await page.evaluate(() => document.querySelector(".vtable").getAttribute("aria-rowcount") - 1);
    result.elements = await page.evaluate(() => document.querySelectorAll("*").length);
    await context.close();
    return result;
}

const { daemon, port } = start();
for (const signal of ["SIGINT", "SIGTERM"])
    process.on(signal, () => {
        daemon.kill();
        rmSync(folder, { recursive: true, force: true });
        process.exit(1);
    });
try {
    const address = `http://127.0.0.1:${await port}`;
    const agent = await submitAll(Number(jobs));
    const user = process.env.USER || "root";
    const { token } = await ask(agent, "POST", "/v1/tokens", { user, role: "operator" });
    await pause(15000); // the planner seats them
    const summary = await ask(agent, "GET", "/v1/summary");
    agent.destroy();
    console.log(JSON.stringify({ load: loadavg().map((x) => Number(x.toFixed(1))), running: summary.jobs.running, waiting: summary.jobs.waiting, ...(await measure(`${address}/#token=${token}`)) }, null, 2));
} finally {
    daemon.removeAllListeners("exit");
    daemon.kill();
    await new Promise((done) => (daemon.exitCode === null ? daemon.on("exit", done) : done()));
    rmSync(folder, { recursive: true, force: true });
}
