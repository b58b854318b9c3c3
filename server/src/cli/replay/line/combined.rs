//! Apache's combined and common log formats, which nginx writes too; a name of a virtual host may stand in front.

use std::net::IpAddr;

use super::Line;
use crate::cli::replay::entry::{Entry, Named, request_line};
use crate::cli::replay::time;

pub(super) fn read(line: &str, with_headers: bool) -> Line {
    read_known(line, with_headers).unwrap_or(Line::Unknown)
}

fn read_known(line: &str, with_headers: bool) -> Option<Line> {
    // A user may have brackets in the name, but no quote: servers escape it. So the date is what ends before the first.
    let (front, rest) = line.split_once("] \"").or_else(|| line.split_once(']'))?;
    let (who, when) = front.rsplit_once('[')?;
    let (ip, user) = who_is_it(who)?;
    let t_us = time::common(when)?;
    let (request, rest, is_request_closed) = quoted(rest.trim_start());
    let (method, path) = request_line(request);
    let headers = if with_headers { headers(rest) } else { Named::new() };
    let entry = Entry { t_us, ip, method: method.into(), path: path.into(), client: user, headers, ..Entry::default() };
    Some(if is_request_closed && is_whole(rest) { Line::Request(entry) } else { Line::Cut(entry) })
}

/// The address and the authenticated user, if they are there: `203.0.113.9 - alice `. A name instead of an address is a
/// request from nowhere.
fn who_is_it(who: &str) -> Option<(Option<IpAddr>, Option<Box<str>>)> {
    let (first, rest) = who.trim_end().split_once(' ')?;
    let (second, behind) = rest.split_once(' ').unwrap_or((rest, ""));
    let (ip, rest) = match (first.parse(), second.parse()) {
        (Ok(ip), _) => (Some(ip), rest),
        (Err(_), Ok(ip)) => (Some(ip), behind), // behind the name of a virtual host
        (Err(_), Err(_)) => (None, rest),
    };
    let (_ident, user) = rest.split_once(' ')?;
    Some((ip, Some(user).filter(|user| *user != "-" && !user.is_empty()).map(Into::into)))
}

/// What stands in quotes at the beginning, what follows, and whether the quotes were closed.
fn quoted(text: &str) -> (&str, &str, bool) {
    let inside = text.strip_prefix('"').unwrap_or(text);
    let mut is_escaped = false;
    let end = inside.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or((inside, "", false), |end| (&inside[..end], &inside[end + 1..], true))
}

/// Whether nothing is missing behind the request: a status at least, and no quotes that are open.
fn is_whole(mut rest: &str) -> bool {
    let has_status = rest.trim_start().starts_with(|first: char| first.is_ascii_digit());
    while let Some(quote) = rest.find('"') {
        let (_, behind, is_closed) = quoted(&rest[quote..]);
        if !is_closed {
            return false;
        }
        rest = behind;
    }
    has_status
}

/// The two headers that the combined format has, behind status and size.
fn headers(rest: &str) -> Named {
    let mut headers = Named::new();
    let mut rest = rest;
    for name in ["referer", "user-agent"] {
        let Some(quote) = rest.find('"') else { break };
        let (value, behind, _) = quoted(&rest[quote..]);
        if value != "-" {
            headers.insert(name.to_owned(), value.to_owned());
        }
        rest = behind;
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGENT: &str =
        r#"198.51.100.7 - - [17/May/2015:10:05:03 +0000] "GET /a/b?c=d HTTP/1.1" 200 203 "https://x/" "curl \"8\"""#;

    /// `expect` is `ip user method path`, behind `cut ` if the line was.
    fn check(line: &str, expect: &str) {
        let text = |entry: &Entry| {
            let ip = entry.ip.map_or("-".to_owned(), |ip| ip.to_string());
            format!("{ip} {} {} {}", entry.client.as_deref().unwrap_or("-"), entry.method, entry.path)
        };
        let found = match read(line, false) {
            Line::Request(entry) => text(&entry),
            Line::Cut(entry) => format!("cut {}", text(&entry)),
            Line::Unknown => "unknown".to_owned(),
        };
        assert_eq!(found, expect, "{line}");
    }

    #[test]
    fn a_request_is_who_when_and_what() {
        check(AGENT, "198.51.100.7 - GET /a/b?c=d");
        check(r#"198.51.100.7 - - [17/May/2015:10:05:03 +0000] "POST / HTTP/1.0" 404 -"#, "198.51.100.7 - POST /");
        check(
            r#"2001:db8::5 - alice b [17/May/2015:10:05:03 +0000] "GET / HTTP/2.0" 200 1"#,
            "2001:db8::5 alice b GET /",
        );
        check(
            r#"www.example.com:443 198.51.100.7 - bob [17/May/2015:10:05:03 +0000] "GET / HTTP/2.0" 200 1"#,
            "198.51.100.7 bob GET /",
        );
        check(r#"host.example.com - - [17/May/2015:10:05:03 +0000] "GET / HTTP/2.0" 200 1"#, "- - GET /");
        check(
            r#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET http://example.com/x HTTP/1.1" 200 1"#,
            "1.2.3.4 - GET /x",
        );
    }

    #[test]
    fn what_is_no_request_of_http_is_one_still() {
        check(r#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "-" 408 0"#, "1.2.3.4 -  /");
        check(r#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "\x16\x03\x01" 400 0"#, "1.2.3.4 -  /");
    }

    #[test]
    fn a_line_that_was_cut_counts_if_its_time_is_there() {
        check(AGENT.trim_end_matches('"'), "cut 198.51.100.7 - GET /a/b?c=d");
        check(&AGENT[..58], "cut 198.51.100.7 - GET /a/b?c=");
        check(&AGENT[..45], "cut 198.51.100.7 -  /");
        check(&AGENT[..40], "unknown");
        check(&AGENT[..5], "unknown");
        check(r#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1""#, "cut 1.2.3.4 - GET /");
    }

    #[test]
    fn anything_else_is_unknown() {
        for line in [
            "hello",
            "[",
            "] [",
            "1.2.3.4 - - [yesterday] \"GET / HTTP/1.1\" 200 1",
            "Oct 11 22:14:15 host su[23]: failed",
        ] {
            check(line, "unknown");
        }
    }

    #[test]
    fn the_headers_of_the_combined_format_are_there_for_who_asks() {
        let Line::Request(entry) = read(AGENT, true) else { panic!("a whole line") };
        assert_eq!(entry.headers["referer"], "https://x/");
        assert_eq!(entry.headers["user-agent"], r#"curl \"8\""#);
    }
}
