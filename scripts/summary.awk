#!/usr/bin/awk -f
# Reads the output of nextest and of rustdoc's test runner, and prints one line with all counts. `left` is the number
# of tests that nextest should have run and did not; a test that the filter of one run skips counts as run if another
# run includes it. Exits with 1 if a test failed or was left, or if none was counted. Repeats the messages of panics,
# because the lines before them are many.

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

# A runner shows the output of a failed test twice.
/^ *thread .* panicked at / { repeated = ($0 in panics); panics[$0]; message = 4 }
message > 0 && /stack backtrace:$/ { message = 0 }
message > 0 { if (!repeated) print substr($0, 1, 1000); message-- }

/^ +SKIP \[/ || /^test .* \.\.\. ignored/ { print "not run: " $0 }

END {
    if (!seen) print "no test runner came to its end"
    if (left) print "nextest left out " left " tests that it lists"
    skipped += left
    printf "tests: %d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit !(seen && passed > 0 && failed == 0 && !left)
}
