// format.js - numbers as a person reads them; the exact one goes into a title

const none = "–";

export function isNumber(x) {
    return typeof x === "number" && Number.isFinite(x);
}

// Three significant digits, as few zeros as that needs.
export function digits(x) {
    if (!isNumber(x)) return none;
    const size = Math.abs(x);
    const sign = x < 0 ? "−" : "";
    if (size === 0) return "0";
    if (size >= 1e6 || size < 1e-3) return sign + size.toExponential(2).replace("e+", "e");
    if (size >= 100) return sign + Math.round(size).toLocaleString("en");
    return sign + String(Number(size.toPrecision(3)));
}

function scaled(x, unit, steps) {
    if (!isNumber(x)) return none;
    for (const [factor, prefix] of steps)
        if (Math.abs(x) >= factor) return `${digits(x / factor)} ${prefix}${unit}`;
    return `${digits(x)} ${unit}`;
}

export const watts = (x) => scaled(isNumber(x) ? Math.round(x * 10) / 10 : x, "W", [[1e6, "M"], [1e3, "k"]]);

export function energy(joules) {
    return isNumber(joules) ? scaled(joules / 3600, "Wh", [[1e6, "M"], [1e3, "k"]]) : none;
}

export function rate(x, kind) {
    return isNumber(x) ? `${digits(x)} ${kind === "inference" ? "requests/s" : "steps/s"}` : none;
}

export function percent(share, places = 0) {
    return isNumber(share) ? `${(share * 100).toFixed(places)} %` : none;
}

export function duration(seconds) {
    if (!isNumber(seconds)) return none;
    const s = Math.abs(seconds);
    if (s < 60) return `${Math.round(s)} s`;
    if (s < 3600) return `${Math.round(s / 60)} min`;
    if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`;
    return `${digits(s / 86400)} days`;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

// An instant of the daemon's clock; the day too where it is not that of `now`.
export function time(at, now) {
    if (!isNumber(at)) return none;
    const date = new Date(at * 1000);
    return isNumber(now) && Math.abs(now - at) < 64800 ? clock.format(date) : day.format(date);
}

export function exactTime(at) {
    return isNumber(at) ? new Date(at * 1000).toISOString().replace("T", " ").slice(0, 19) + " UTC" : "";
}

export function count(n, one, many = one + "s") {
    return `${isNumber(n) ? n.toLocaleString("en") : none} ${n === 1 ? one : many}`;
}

// "12.3 kWh (11 to 14)"
export function interval(value, low, high, show) {
    if (!isNumber(value)) return none;
    return isNumber(low) && isNumber(high) ? `${show(value)} (${show(low)} to ${show(high)})` : show(value);
}
