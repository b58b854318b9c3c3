//! The report as a page that needs nothing else: no script, no font, no network.

mod chart;

use std::fmt::{self, Write as _};

use super::{Report, RuleReport};
use crate::cli::number::{grouped, per_cent};
use crate::cli::page::{self, escaped};
use crate::cli::replay::time;

pub(in crate::cli::replay) fn page(report: &Report) -> String {
    page::page("What these rules would have done", |page| write_body(page, report))
}

fn write_body(page: &mut String, report: &Report) -> fmt::Result {
    write_head(page, report)?;
    write_overview(page, report)?;
    report.rules.iter().try_for_each(|rule| write_rule(page, report, rule))?;
    write_remarks(page, report)
}

fn write_head(page: &mut String, report: &Report) -> fmt::Result {
    writeln!(page, "<h1>What these rules would have done</h1>")?;
    if let Some((first, last)) = report.span_us {
        writeln!(page, "<p class=\"span\">{} to {} UTC</p>", time::display(first), time::display(last))?;
    }
    let figures = [
        ("requests", grouped(report.requests), ""),
        ("admitted", grouped(report.admitted), "allowed"),
        ("rejected", grouped(report.rejected()), "denied"),
        ("of all", per_cent(report.rejected(), report.requests), "denied"),
    ];
    writeln!(page, "<ul class=\"figures\">")?;
    for (name, figure, class) in figures {
        writeln!(page, "<li class=\"{class}\"><b>{figure}</b> {name}</li>")?;
    }
    writeln!(page, "</ul>")
}

fn write_overview(page: &mut String, report: &Report) -> fmt::Result {
    writeln!(
        page,
        "<table>\n<thead><tr><th>rule</th><th>group</th><th>allowed</th><th>denied</th><th></th><th>keys</th><th>keys denied</th><th>peak of one key</th></tr></thead>\n<tbody>"
    )?;
    for rule in &report.rules {
        let peak = rule.peak.as_ref().map_or("-".to_owned(), |peak| grouped(peak.requests));
        writeln!(
            page,
            "<tr><th><a href=\"#rule-{}\">{}</a>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{peak}</td></tr>",
            rule.order,
            escaped(&rule.id),
            if rule.is_shadow { " <small>shadow</small>" } else { "" },
            escaped(&rule.group),
            grouped(rule.allowed),
            grouped(rule.denied),
            per_cent(rule.denied, rule.decisions()),
            grouped(rule.keys as u64),
            grouped(rule.keys_denied as u64),
        )?;
    }
    writeln!(page, "</tbody>\n</table>")
}

fn write_rule(page: &mut String, report: &Report, rule: &RuleReport) -> fmt::Result {
    writeln!(page, "<section id=\"rule-{}\">\n<h2>{}</h2>", rule.order, escaped(&rule.id))?;
    if rule.decisions() == 0 {
        return writeln!(page, "<p>No request was for it.</p>\n</section>");
    }
    if let Some(peak) = &rule.peak {
        writeln!(
            page,
            "<p>Most requests of one key in one window: <b>{}</b>, by {} at {}.</p>",
            grouped(peak.requests),
            escaped(&peak.key),
            time::display(peak.t_us)
        )?;
    }
    chart::over_time(page, &report.timeline, rule.order)?;
    if !rule.worst.is_empty() {
        writeln!(page, "<h3>Denied most</h3>")?;
        chart::worst(page, &rule.worst)?;
    }
    writeln!(page, "</section>")
}

fn write_remarks(page: &mut String, report: &Report) -> fmt::Result {
    let remarks = report.remarks();
    if remarks.is_empty() {
        return Ok(());
    }
    writeln!(page, "<footer>\n<ul>")?;
    remarks.iter().try_for_each(|remark| writeln!(page, "<li>{}</li>", escaped(remark)))?;
    writeln!(page, "</ul>\n</footer>")
}
