#!/usr/bin/env bats
# The report in a real browser: nothing sticks out at phone width, no text is cut.

setup() {
    browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
        skip "no chromium is installed"
    out=$(mktemp -d)
}

teardown() {
    [ -z "${out:-}" ] || rm -rf "$out"
}

# What a script finds on a page of this width.
look() { # page width script
    {
        sed '/^<\/body>/,$d' "$1"
        echo "<script>document.body.innerHTML = 'found:' + (function () { $3 })() + ':end';"
        echo "</script></body></html>"
    } > "$out/look.html"
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-background-networking \
        --disable-component-update --disable-sync --no-first-run --hide-scrollbars \
        --user-data-dir="$out/profile" --window-size="$2,800" --dump-dom \
        "file://$out/look.html" 2> /dev/null | sed -n 's/.*found:\(.*\):end.*/\1/p'
}

overflow='var e = document.documentElement; return e.scrollWidth - e.clientWidth;'

# Texts of drawings outside their drawing, by a pixel for the edges of letters.
cut='var bad = [];
document.querySelectorAll("figure svg").forEach(function (svg) {
    var box = svg.viewBox.baseVal;
    svg.querySelectorAll("text").forEach(function (t) {
        var b = t.getBBox();
        var cut = box.x - b.x > 1 || b.x + b.width - box.width > 1;
        if (cut || b.y + b.height - box.height > 1) bad.push(t.textContent);
    });
});
return bad.join(", ") || "all inside";'

@test "nothing overflows at 390 and at 1280 pixels" {
    "$CORGI_BIN/corgi" sim --policy all --days 1 --seeds 2 --load 30,50,70,90 \
        --out "$out" > /dev/null
    for width in 390 1280; do
        run look "$out/report.html" "$width" "$overflow"
        echo "$width: '$output'"
        [ "$output" = 0 ]
    done
}

@test "no text of a drawing is cut" {
    "$CORGI_BIN/corgi" sim --policy all --days 1 --seeds 2 --load 30,90 --out "$out" > /dev/null
    run look "$out/report.html" 390 "$cut"
    echo "'$output'"
    [ "$output" = "all inside" ]
}
