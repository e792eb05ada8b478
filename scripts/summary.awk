#!/usr/bin/awk -f
# Reads what nextest and rustdoc's test runner printed; prints one line that counts it all. Exits 1 if
# a test failed, or if none was counted.

{ gsub(/\033\[[0-9;]*m/, "") }

/^ +Summary \[/ {
    for (i = 2; i <= NF; i++) {
        number = $(i - 1)
        if ($i ~ /^passed/) passed += number
        else if ($i ~ /^(failed|timed)/) failed += number
        else if ($i ~ /^skipped/) skipped += number
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
    printf "tests: %d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit !(seen && passed > 0 && failed == 0)
}
