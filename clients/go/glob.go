package airlock

import (
	"fmt"
	"regexp"
	"strings"
)

var globParts = regexp.MustCompile(`\*\*/?|\*|\?|\[[^\]]+\]|[^*?\[]+|\[`)

// globOf returns a pattern in which `*` does not match slashes and `**` does.
func globOf(glob string) (*regexp.Regexp, error) {
	var out strings.Builder
	for _, part := range globParts.FindAllString(glob, -1) {
		switch {
		case part == "**/":
			out.WriteString(`(?:.*/)?`)
		case part == "**":
			out.WriteString(`.*`)
		case part == "*":
			out.WriteString(`[^/]*`)
		case part == "?":
			out.WriteString(`[^/]`)
		case len(part) > 1 && part[0] == '[':
			class, not := part[1:len(part)-1], ""
			if class[0] == '!' {
				class, not = class[1:], "^"
			}
			out.WriteString("[" + not + strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`).Replace(class) + "]")
		default:
			out.WriteString(regexp.QuoteMeta(part))
		}
	}
	made, err := regexp.Compile(`^(?s:` + out.String() + `)$`)
	if err != nil {
		return nil, settingsError(fmt.Sprintf("`%s` is not a glob", glob), "")
	}
	return made, nil
}
