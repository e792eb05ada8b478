#!/usr/bin/awk -f
# Reads what nextest and rustdoc's test runner printed; prints one line that counts it all. `left` is how many tests
# nextest should have run and did not: what its runs skip by their filters is run by another of them. Exits 1 if a test
# failed or was left, or if none was counted.

{ gsub(/\033\[[0-9;]*m/, "") }

/^ +Summary \[/ {
    for (i = 2; i <= NF; i++) {
        number = $(i - 1)
        if ($i ~ /^passed/) passed += number
        else if ($i ~ /^(failed|timed)/) failed += number
    }
    seen++
}

/^test result: / {
    for (i = 2; i <= NF; i++) {
        number = $(i - 1)
        if ($i ~ /^passed/) passed += number
        else if ($i ~ /^failed/) failed += number
        else if ($i ~ /^ignored/) skipped += number
    }
    seen++
}

/^ +SKIP \[/ || /^test .* \.\.\. ignored/ { print "not run: " $0 }

END {
    if (!seen) print "no test runner came to its end"
    if (left) print "nextest left out " left " tests that it lists"
    skipped += left
    printf "tests: %d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit !(seen && passed > 0 && failed == 0 && !left)
}
