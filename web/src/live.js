// live.js - what the daemon tells, kept up to date: one snapshot, then events
//
// Events change the snapshot in place; views hear of it once a second at most (four times
// for what a person did), and not at all while nobody looks at the tab.  When the stream
// breaks, a new snapshot is taken as soon as the daemon answers again.
import { useEffect, useReducer } from "preact/hooks";
import { get, query, setToken } from "./api.js";
import { follow } from "./events.js";

const types = "job,device,node,power,measurement,policy,guard,lost,bye";

export const live = {
    link: "connecting", // "live", "lost", "signed out"
    notice: "", // what happened to the link, for a few seconds
    version: null,
    who: null,
    summary: null,
    today: null, // energy since midnight
    ever: null, // energy since the store began
    trends: null, // of the last hour
    nodes: [],
    devices: new Map(), // by name
    jobs: new Map(), // running ones, by id
    revision: 0,
};

const listeners = new Set();
let clockAt = 0; // performance.now() when version.now_s was told
let timer = 0, drawnAt = 0;
let abort = new AbortController();
const last = { id: "" };

// The daemon's clock, which a simulation may run faster than the wall's.
export function now() {
    if (!live.version) return Date.now() / 1000;
    return live.version.now_s + ((performance.now() - clockAt) / 1000) * live.version.speed;
}

// A day of trends, in steps that make a few hundred points of what there is.
export function dayOfTrends(signal) {
    const from_s = Math.max(live.version.started_s, now() - 86400);
    return get("/v1/trends" + query({ from_s, step_s: Math.max(60, (now() - from_s) / 288) }), { signal });
}

export const simulated = () => live.version?.engine === "sim";
export const isOperator = () => live.who?.role === "operator";

export function useLive() {
    const [, redraw] = useReducer((n) => n + 1, 0);
    const drawn = live.revision;
    useEffect(() => {
        listeners.add(redraw);
        if (live.revision !== drawn) redraw(); // an answer was faster than this
        return () => listeners.delete(redraw);
    }, []);
    return live;
}

function draw() {
    timer = 0;
    if (document.hidden) return;
    drawnAt = performance.now();
    live.revision++;
    for (const listener of [...listeners]) listener();
}

function changed(soon) {
    if (document.hidden) return;
    const wait = Math.max(0, (soon ? 250 : 1000) - (performance.now() - drawnAt));
    if (timer && !soon) return;
    clearTimeout(timer);
    timer = setTimeout(draw, wait);
}

document.addEventListener("visibilitychange", () => document.hidden || draw());

// ---- the snapshot --------------------------------------------------------------------

function takeNode(node) {
    const at = live.nodes.findIndex((n) => n.name === node.name);
    if (at < 0) live.nodes.push(node);
    else live.nodes[at] = node;
    for (const device of node.devices) live.devices.set(device.name, device);
}

export async function loadNodes() {
    const { nodes } = await get("/v1/nodes");
    live.nodes = nodes;
    live.devices = new Map(nodes.flatMap((n) => n.devices.map((d) => [d.name, d])));
}

async function loadVersion() {
    live.version = await get("/v1/version");
    clockAt = performance.now();
}

const loadSummary = async () => (live.summary = await get("/v1/summary"));

async function loadTrends() {
    live.trends = await get("/v1/trends" + query({ from_s: Math.max(0, now() - 3600) }));
}

async function loadEnergy() {
    const midnight = Math.floor(now() / 86400) * 86400;
    live.today = await get("/v1/energy" + query({ from_s: midnight, limit: 1 }));
    live.ever = await get("/v1/energy" + query({ limit: 1 }));
}

let jobsStale = true, jobsAt = -Infinity;

export async function loadRunning() {
    const found = new Map();
    let after;
    do {
        const page = await get("/v1/jobs" + query({ state: "running", limit: 1000, after }));
        for (const job of page.jobs) found.set(job.id, job);
        after = page.next;
    } while (after);
    live.jobs = found;
    jobsStale = false;
    jobsAt = performance.now();
    changed(true);
}

// What changed is marked for two seconds.
export const isFresh = (thing) => performance.now() - (thing.changedAt ?? -Infinity) < 2000;

// A promise that does not hold at the moment, as the daemon judges it.
export const fallsShort = (job) => job && job.short_since_s > 0;

// ---- events --------------------------------------------------------------------------

export const freshJobs = new Map(); // when each changed last

function putJob(event) {
    freshJobs.set(event.id, performance.now());
    setTimeout(() => freshJobs.delete(event.id), 2000);
    for (const device of live.devices.values()) {
        const here = event.state === "running" && event.devices.some((place) => place.name === device.name);
        const at = device.jobs.findIndex((j) => j.job === event.id);
        if (at >= 0 && !here) device.jobs.splice(at, 1);
        if (at < 0 && here) device.jobs.push({ job: event.id, name: event.name, user: event.user, rate: null });
        if (at >= 0 !== here) device.changedAt = performance.now();
        if (at >= 0 || here) {
            if (device.jobs.length) device.state = device.state === "drained" ? "drained" : "busy";
            else if (device.state === "busy") device.state = "free";
        }
    }
    const job = live.jobs.get(event.id);
    if (event.state !== "running") live.jobs.delete(event.id);
    else if (job) Object.assign(job, { state: event.state, devices: event.devices });
    jobsStale ||= event.state === "running";
}

async function refetchNode(event) {
    const name = event.node ?? event.name.split(":")[0];
    takeNode(await get(`/v1/nodes/${encodeURIComponent(name)}`));
    changed(true);
}

// Pages may listen to single events too.
export const heard = new EventTarget();

function take(type, data) {
    if (type === "power") {
        const device = live.devices.get(data.device);
        if (device) Object.assign(device, { watts: data.watts, modelled: data.modelled });
    } else if (type === "measurement") {
        const job = live.jobs.get(data.job);
        if (job) Object.assign(job, { rate: data.rate, steps_done: data.steps_done, short_since_s: data.short_since_s });
    } else if (type === "job") {
        putJob(data);
    } else if (type === "node" || type === "device") {
        refetchNode(data).catch(() => {});
    } else if (type === "lost") {
        snapshot().catch(() => {});
    }
    heard.dispatchEvent(new CustomEvent(type, { detail: data }));
    changed(type === "job");
    if (type === "job") setTimeout(changed, 2100);
}

// ---- the link ------------------------------------------------------------------------

function say(notice) {
    live.notice = notice;
    if (notice && live.link === "live")
        setTimeout(() => {
            if (live.notice === notice) say("");
        }, 6000);
    changed(true);
}

async function snapshot() {
    live.who = await get("/v1/whoami");
    await Promise.all([loadVersion(), loadSummary(), loadNodes()]);
    changed(true);
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function connect() {
    const before = live.version?.started_s;
    await snapshot();
    await follow(types, last, {
        open() {
            const returned = live.link === "lost";
            live.link = "live";
            jobsStale = true;
            if (returned)
                say(before === live.version.started_s ? "Connected again." : "The daemon was restarted; this page is connected again.");
            else changed(true);
            slow();
        },
        event: take,
    }, abort.signal);
}

export async function start() {
    abort.abort();
    abort = new AbortController();
    const mine = abort.signal;
    live.link = "connecting";
    while (!mine.aborted) {
        try {
            await connect();
        } catch (error) {
            if (mine.aborted) return;
            if (error.status === 401 || error.status === 403) {
                live.link = "signed out";
                live.who = null;
                draw();
                return;
            }
            if (live.link !== "lost") {
                live.link = "lost";
                say("The daemon does not answer. This page shows what it told last and tries again every second.");
            }
        }
        await pause(1000);
    }
}

export function signOut() {
    setToken("");
    last.id = "";
    location.reload();
}

// ---- what has no event ----------------------------------------------------------------

let beat = 0;

async function slow() {
    if (live.link !== "live" || document.hidden) return;
    const many = live.devices.size > 300;
    try {
        if (jobsStale && performance.now() - jobsAt > (many ? 15000 : 1500)) await loadRunning();
        if (beat % 2 === 0) await loadSummary();
        if (beat % 10 === 0 || !live.trends) await Promise.all([loadVersion(), loadTrends()]);
        if (beat % 30 === 0 || !live.ever) await loadEnergy();
        if (beat % 15 === 14) await loadNodes(); // caps have no event, and users hear of their own jobs only
        changed(false);
    } catch {
        // the stream says when the daemon is gone
    }
}

setInterval(() => {
    beat++;
    slow();
}, 1000);
