/** Globs of relative paths: `*` does not match slashes, and `**` does. */

const TOKEN = /(\*\*\/?|\*|\?|\[[^\]]*\])/;

/** Returns a pattern that matches whole paths. */
export function globPattern(glob: string): RegExp {
  const parts = glob.split(TOKEN).map((part) => {
    switch (part) {
      case "**/":
        return "(?:.*/)?";
      case "**":
        return ".*";
      case "*":
        return "[^/]*";
      case "?":
        return "[^/]";
      default:
        return /^\[(?!!?\]$).*\]$/s.test(part) ? set(part.slice(1, -1)) : escape(part);
    }
  });
  return new RegExp(`^${parts.join("")}$`, "su");
}

/** Returns the pattern for the content of a set, such as `a-z` or `!x`. */
function set(content: string): string {
  const negated = content.startsWith("!");
  const chars = Array.from(negated ? content.slice(1) : content);
  let out = "";
  for (let at = 0; at < chars.length; at++) {
    const [first = "", dash, last] = chars.slice(at, at + 3);
    if (dash === "-" && last !== undefined) {
      // A range that is empty matches nothing.
      out += (first.codePointAt(0) ?? 0) <= (last.codePointAt(0) ?? 0) ? `${hexed(first)}-${hexed(last)}` : "";
      at += 2;
    } else {
      out += hexed(first);
    }
  }
  if (out === "") {
    return negated ? "." : "(?!)";
  }
  return `[${negated ? "^" : ""}${out}]`;
}

function hexed(char: string): string {
  return `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}

function escape(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
