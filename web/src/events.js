// events.js - the daemon's stream of events
//
// EventSource cannot send a token, so the stream is read with fetch.  It resumes behind the
// last event that had a number, as the daemon keeps those.
import { ApiError, headers } from "./api.js";

// Calls on.open(), on.event(type, data) for each event, and throws when the stream ends.
export async function follow(types, last, on, signal) {
    const answer = await fetch(`/v1/events?types=${types}`, {
        headers: headers({ Accept: "text/event-stream", ...(last.id ? { "Last-Event-ID": last.id } : {}) }),
        signal,
        cache: "no-store",
    });
    if (!answer.ok) throw new ApiError(answer.status, await answer.json().catch(() => null));
    on.open();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
        const { value, done } = await reader.read();
        if (done) throw new ApiError(0);
        rest += value;
        const end = rest.lastIndexOf("\n\n");
        if (end < 0) continue;
        for (const block of rest.slice(0, end).split("\n\n")) take(block, last, on);
        rest = rest.slice(end + 2);
    }
}

function take(block, last, on) {
    let type = "", data = "";
    for (const line of block.split("\n")) {
        if (line.startsWith("id: ")) last.id = line.slice(4);
        else if (line.startsWith("event: ")) type = line.slice(7);
        else if (line.startsWith("data: ")) data += line.slice(6);
    }
    if (type && data) on.event(type, JSON.parse(data));
}
