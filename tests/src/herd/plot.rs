//! The picture of a herd, as SVG: one panel for each way to come back.

use std::fmt::Write as _;

use super::{CALLERS, Manners, Returns, SHOWN_S, Server, WINDOW_S, run};

/// The seed of the picture.
const SEED: u64 = 1;

/// What is drawn, from the worst to the best.
const PANELS: [(&str, Manners, Server); 4] = [
    ("As told: all at once, when the wait ends", Manners::AsTold, Server::Exact),
    ("As told, by a server that jitters what it tells", Manners::AsTold, Server::Jittered),
    ("Full jitter, uniform(0, told): spread, but too early", Manners::FullJitter, Server::Exact),
    ("told + uniform(0, told): never too early, never at once", Manners::ToldAndMore, Server::Exact),
];

const WIDTH: usize = 760;
const LEFT: usize = 20;
const SECOND_WIDTH: usize = 4;
const PANEL_TOP: usize = 72;
const PANEL_HEIGHT: usize = 148;
const BARS_HEIGHT: usize = 80;

/// Callers a second that fill a panel's height; taller bars are cut and say so.
const SHOWN_PER_SECOND: u32 = 9_000;

/// Pale and dark pages alike.
const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#1f2328}.small{font-size:11px;fill:#59636e}\
    .head{font-size:16px;font-weight:600}.axis{stroke:#d1d9e0}.even{stroke:#59636e;stroke-dasharray:3 3}\
    .early{fill:#cf222e}.late{fill:#0969da}\
    @media(prefers-color-scheme:dark){text{fill:#f0f6fc}.small{fill:#9198a1}.axis{stroke:#3d444d}\
    .even{stroke:#9198a1}.early{fill:#f85149}.late{fill:#4493f8}}";

/// Draws how a herd comes back. The same picture every time.
pub fn plot() -> String {
    let mut out = String::new();
    let height = PANEL_TOP + PANELS.len() * PANEL_HEIGHT;
    let _ = writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">"#
    );
    let _ = writeln!(out, "<title>When {} refused callers come back</title>", grouped(CALLERS));
    let _ = writeln!(out, "<style>{STYLE}</style>");
    text(
        &mut out,
        LEFT,
        26,
        "head",
        &format!("{} callers are refused at once and told to wait {WINDOW_S} s", grouped(CALLERS)),
    );
    text(
        &mut out,
        LEFT,
        46,
        "small",
        &format!(
            "Callers that come back in each second; red = refused again. Dashed: all of them evenly over {WINDOW_S} s."
        ),
    );
    for (at, (title, manners, server)) in PANELS.into_iter().enumerate() {
        panel(&mut out, PANEL_TOP + at * PANEL_HEIGHT, title, &run(manners, server, SEED));
    }
    out.push_str("</svg>\n");
    out
}

fn panel(out: &mut String, top: usize, title: &str, returns: &Returns) {
    let base = top + 22 + BARS_HEIGHT;
    text(out, LEFT, top + 12, "", title);
    let (peak, refused) = (grouped(returns.peak()), CALLERS - returns.allowed);
    let _ = writeln!(
        out,
        r#"<text x="{}" y="{}" class="small" text-anchor="end">peak {peak} in a second; refused again: {}</text>"#,
        LEFT + SHOWN_S * SECOND_WIDTH + 100,
        top + 12,
        grouped(refused),
    );
    axis(out, base);
    returns.by_second.iter().enumerate().for_each(|(second, callers)| bar(out, base, second, *callers));
    let even = base - bar_height(CALLERS / u32::try_from(WINDOW_S).expect("a minute"));
    let _ = writeln!(out, r#"<path d="M{LEFT} {even}h{}" class="even"/>"#, SHOWN_S * SECOND_WIDTH);
}

fn axis(out: &mut String, base: usize) {
    let _ = writeln!(out, r#"<path d="M{LEFT} {base}h{}" class="axis"/>"#, SHOWN_S * SECOND_WIDTH);
    for second in (0..=SHOWN_S).step_by(30) {
        text(out, LEFT + second * SECOND_WIDTH, base + 15, "small", &format!("{second} s"));
    }
}

fn bar(out: &mut String, base: usize, second: usize, callers: u32) {
    if callers == 0 {
        return;
    }
    let (x, height) = (LEFT + second * SECOND_WIDTH, bar_height(callers).max(1));
    let class = if second < usize::try_from(WINDOW_S).expect("a minute") { "early" } else { "late" };
    let (y, width) = (base - height, SECOND_WIDTH - 1);
    let _ = writeln!(out, r#"<rect x="{x}" y="{y}" width="{width}" height="{height}" class="{class}"/>"#);
    if callers > SHOWN_PER_SECOND * 2 {
        text(out, x + SECOND_WIDTH + 2, y + 10, "small", &format!("▲ {}", grouped(callers)));
    }
}

/// Pixels; what does not fit is cut.
fn bar_height(callers: u32) -> usize {
    let pixels = u64::from(callers.min(SHOWN_PER_SECOND)) * BARS_HEIGHT as u64 / u64::from(SHOWN_PER_SECOND);
    usize::try_from(pixels).expect("a panel's height")
}

fn text(out: &mut String, x: usize, y: usize, class: &str, text: &str) {
    let _ = writeln!(out, r#"<text x="{x}" y="{y}" class="{class}">{text}</text>"#);
}

/// A number with commas between thousands.
fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).expect("digits")).collect();
    groups.join(",")
}
