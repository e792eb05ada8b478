//! Tables with columns aligned by the display width of their characters.

use unicode_width::UnicodeWidthStr as _;

/// Formats rows under a header. Each column is as wide as its widest cell; the last one is not
/// padded.
#[must_use]
pub fn table<const N: usize>(header: [&str; N], rows: &[[String; N]]) -> String {
    let mut widths = header.map(|cell| cell.width());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    let mut out = String::new();
    push_row(&mut out, header.iter().copied(), &widths);
    for row in rows {
        push_row(&mut out, row.iter().map(String::as_str), &widths);
    }
    out
}

fn push_row<'a>(out: &mut String, cells: impl Iterator<Item = &'a str>, widths: &[usize]) {
    let start = out.len();
    for (cell, width) in cells.zip(widths) {
        out.push_str(cell);
        out.extend(std::iter::repeat_n(' ', width - cell.width() + 3));
    }
    let end = out.trim_end_matches(' ').len().max(start);
    out.truncate(end);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [["1".to_owned(), "a b".to_owned()], ["22222".to_owned(), String::new()]];
        assert_eq!(table(["ID", "X"], &rows), "ID      X\n1       a b\n22222\n");
        let wide = [["\u{6587}\u{4ef6}".to_owned(), "x".to_owned()]];
        assert_eq!(table(["ID", "X"], &wide), "ID     X\n\u{6587}\u{4ef6}   x\n");
    }
}
