package airlock_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	goBlock = regexp.MustCompile("(?s)```go\n(.*?)```\n(?:[^`]*?```text\n(.*?)```)?")
	anID    = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
)

// The pages, and the number of their blocks that are programs.
var pages = map[string]int{"README.md": 1, "../../docs/agents.md": 2}

// Each program of the documentation runs, and prints what the page shows. Every other block is a part of an example.
func TestDocumentation(t *testing.T) {
	examples, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for page, expected := range pages {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		programs := 0
		for _, block := range goBlock.FindAllStringSubmatch(string(content), -1) {
			if !strings.HasPrefix(block[1], "package main\n") {
				if !strings.Contains(unindented(string(examples)), unindented(block[1])) {
					t.Errorf("%s: the block is no part of example_test.go:\n%s", page, block[1])
				}
				continue
			}
			programs++
			printed := runProgram(t, block[1])
			if words(anID.ReplaceAllString(printed, "ID")) != words(block[2]) {
				t.Errorf("%s: the program prints\n%s\nand the page shows\n%s", page, printed, block[2])
			}
		}
		if programs != expected {
			t.Errorf("%s has %d programs", page, programs)
		}
	}
}

func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// unindented returns the lines of a text without their indentation.
func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], "\t")
	}
	return strings.Join(lines, "\n")
}

// runProgram runs a program with the server that AIRLOCK_STATE names, and returns its output.
func runProgram(t *testing.T, source string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("go", "run", file)
	command.Env = append(os.Environ(), "AIRLOCK_STATE="+state(t))
	command.Stdin = strings.NewReader("y\n")
	var problems strings.Builder
	command.Stderr = &problems
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, problems.String(), source)
	}
	return string(output)
}
