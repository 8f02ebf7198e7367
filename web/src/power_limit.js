// power_limit.js - the limit on the cluster's power, by hour of the day (UTC): in words and over time
import { watts } from "./format.js";

const two = (n) => String(n).padStart(2, "0");
const clock = (minute) => `${two(Math.floor(minute / 60))}:${two(minute % 60)}`;
const limit = (w) => (w >= 1000 ? `${w / 1000}kW` : w > 0 ? `${w}W` : "none"); // exact: it may be typed back

function holds(hours, minute) {
    return hours.from_minute < hours.to_minute ? minute >= hours.from_minute && minute < hours.to_minute : minute >= hours.from_minute || minute < hours.to_minute;
}

// What holds at a time; null: nothing.
export function limitAt(policy, at_s) {
    const minute = Math.floor((at_s % 86400) / 60);
    const w = (policy.power_limit_hours.find((h) => holds(h, minute)) ?? { watts: policy.power_limit_watts }).watts;
    return w > 0 ? w : null;
}

export const hasLimit = (policy) => policy.power_limit_watts > 0 || policy.power_limit_hours.some((h) => h.watts > 0);

// "07:00-20:00 12kW, 22:00-06:00 none", as is typed and read.
export const hoursWords = (hours) => hours.map((h) => `${clock(h.from_minute)}-${clock(h.to_minute)} ${limit(h.watts)}`).join(", ");

// The reverse; null: it cannot be meant.
export function readHours(text) {
    const all = [];
    for (const part of text.split(",").map((p) => p.trim()).filter(Boolean)) {
        const m = /^(\d{1,2}):(\d\d)\s*-\s*(\d{1,2}):(\d\d)\s+(?:none|([\d.]+)\s*(k|M)?W?)$/i.exec(part);
        if (!m) return null;
        const [from, to] = [m[1] * 60 + +m[2], m[3] * 60 + +m[4]];
        const w = m[5] ? Number(m[5]) * ({ k: 1e3, m: 1e6 }[m[6]?.toLowerCase()] ?? 1) : 0;
        if (from > 1439 || to > 1440 || m[2] > 59 || m[4] > 59 || !Number.isFinite(w)) return null;
        all.push({ from_minute: from, to_minute: to, watts: w });
    }
    return all;
}

export function limitSentence(policy) {
    const hours = policy.power_limit_hours;
    if (!hasLimit(policy)) return "No power limit is set.";
    if (!hours.length) return `The power limit is ${watts(policy.power_limit_watts)}.`;
    const now = policy.power_limit_now_watts;
    return `The power limit is ${now > 0 ? `${watts(now)} now` : "off now"}: ${hoursWords(hours)} (UTC), else ${limit(policy.power_limit_watts)}.`;
}
