//! A page of HTML that needs nothing else: no script, no font, no network.

use std::fmt::{self, Write as _};

const STYLE: &str = include_str!("page/style.css");

/// The whole page: `write_body` writes what stands in it.
pub(super) fn page(title: &str, write_body: impl FnOnce(&mut String) -> fmt::Result) -> String {
    let mut page = String::new();
    write_page(&mut page, title, write_body).expect("a text takes all that is written to it");
    page
}

fn write_page(page: &mut String, title: &str, write_body: impl FnOnce(&mut String) -> fmt::Result) -> fmt::Result {
    write!(page, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")?;
    writeln!(page, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")?;
    write!(page, "<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n", escaped(title))?;
    write_body(page)?;
    writeln!(page, "</main>\n</body>\n</html>")
}

/// A text of users in a page: what would be markup is none.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_users_is_no_markup() {
        assert_eq!(escaped("<script>'&\"</script>"), "&lt;script&gt;&#39;&amp;&quot;&lt;/script&gt;");
        let page = page("a<b", |page| page.write_str("body\n"));
        assert!(page.contains("<title>a&lt;b</title>") && page.contains("<main>\nbody\n</main>"), "{page}");
    }
}
