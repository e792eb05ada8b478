//! Finds the examples in pages of the documentation.

/// Returns the blocks of a language in one section of a page. A heading of the second level begins a section.
#[must_use]
pub fn blocks<'page>(page: &'page str, section: &str, language: &str) -> Vec<&'page str> {
    let is_section = |part: &&str| part.lines().next() == Some(section);
    let text = page.split("\n## ").find(is_section).unwrap_or_default();
    let fence = format!("```{language}\n");
    text.split(fence.as_str()).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}
