// decision.jsx - a decision as a sentence, what it was chosen over, and what came of it
import { digits, energy, exactTime, isNumber, percent, rate, time, watts } from "./format.js";
import { now } from "./live.js";
import { Table } from "./table.jsx";
import { JobLink } from "./ui.jsx";

const verdicts = { possible: "possible", taken: "taken by others", too_slow: "too slow", too_little_memory: "too little memory" };

function place(a) {
    const where = [a.type, a.node].filter(Boolean).join(" on ") || "elsewhere";
    return a.beside ? `${where}, beside job ${a.beside}` : where;
}

export function Alternatives({ list, kind }) {
    if (!list?.length) return null;
    return (
        <Table label="What else was possible" head={[["Instead", true], ["Verdict", true], ["Rate it would have"], ["Sure of"], ["Energy"], ["Fits"]]}>
            {list.map((a, i) => (
                <tr key={i} title={a.text}>
                    <td>{place(a)}</td>
                    <td>{verdicts[a.verdict] ?? a.verdict}</td>
                    <td class="number">{rate(a.rate, kind)}</td>
                    <td class="number">{isNumber(a.sure_rate) ? `${digits(a.sure_rate)}${a.needed_rate > 0 ? ` of ${digits(a.needed_rate)}` : ""}` : "–"}</td>
                    <td class="number">
                        {isNumber(a.more_joules) ? `${a.more_joules >= 0 ? "+" : "−"}${energy(Math.abs(a.more_joules))}` : isNumber(a.more_watts) ? `${a.more_watts >= 0 ? "+" : "−"}${watts(Math.abs(a.more_watts))}` : "–"}
                    </td>
                    <td class="number">{percent(a.fits)}</td>
                </tr>
            ))}
        </Table>
    );
}

export function Decision({ decision, kind, withJob = true }) {
    const { rate: predicted } = decision;
    return (
        <div class="decision">
            <p>
                <b>{decision.kind}</b> <span title={exactTime(decision.at_s)}>{time(decision.at_s, now())}</span>
                {withJob && decision.job > 0 && (
                    <>
                        {" "}
                        <JobLink id={decision.job} />
                    </>
                )}
                {decision.devices.length > 0 && <> on {decision.devices.map((d) => d.name).join(", ")}</>}: {decision.reason}
                {predicted && isNumber(decision.measured_rate) && (
                    <span class="quiet">
                        {" "}
                        (predicted {digits(predicted.value)}, measured {digits(decision.measured_rate)})
                    </span>
                )}
            </p>
            <Alternatives list={decision.alternatives} kind={kind} />
        </div>
    );
}
