//! The variables that settings may stand in: one of ours that nobody reads is most likely a misspelt one.

use std::collections::BTreeSet;

use clap::CommandFactory as _;

use super::Cli;

/// What our variables begin with.
const PREFIX: &str = "TALLYRING_";

/// Variables that no flag stands for.
const WITHOUT_FLAG: [&str; 3] = ["TALLYRING_LOG", "TALLYRING_PEER_TOKEN", "TALLYRING_TOKEN"];

/// How many letters a misspelt name may be away from the name that was meant.
const LETTERS_MAX: usize = 3;

/// A line for each variable that is called like ours and that nobody reads, with the one that may have been meant.
pub(super) fn mistakes() -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    mistakes_among(names, &known())
}

fn mistakes_among(names: impl Iterator<Item = String>, known: &BTreeSet<String>) -> Vec<String> {
    let ours = names.filter(|name| name.starts_with(PREFIX) && !is_of_a_service(name) && !known.contains(name));
    let mut ours: Vec<String> = ours.collect();
    ours.sort_unstable();
    ours.iter().map(|name| mistake(name, known)).collect()
}

fn mistake(name: &str, known: &BTreeSet<String>) -> String {
    let nearest = known.iter().map(|known| (distance(name, known), known)).min();
    let meant = match nearest.filter(|(letters, _)| *letters <= LETTERS_MAX) {
        Some((_, known)) => format!("{known} may be meant"),
        None => "`tallyring serve --help` names those that are".to_owned(),
    };
    format!("the variable {name} is not read: {meant}")
}

/// Whether Kubernetes sets it, for a service that is called like us: `TALLYRING_PORT_4170_TCP_ADDR`, say.
fn is_of_a_service(name: &str) -> bool {
    name.contains("_PORT") || name.contains("_SERVICE_")
}

/// The variables that some command reads.
fn known() -> BTreeSet<String> {
    let mut known: BTreeSet<String> = WITHOUT_FLAG.map(str::to_owned).into();
    gather(&Cli::command(), &mut known);
    known
}

fn gather(command: &clap::Command, known: &mut BTreeSet<String>) {
    let variables = command.get_arguments().filter_map(clap::Arg::get_env);
    known.extend(variables.filter_map(|name| name.to_str()).map(str::to_owned));
    command.get_subcommands().for_each(|command| gather(command, known));
}

/// Letters to add, to leave out or to exchange on the way from one name to the other.
///
/// Source: Wagner and Fischer, "The String-to-String Correction Problem", 1974, a row at a time.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, letter) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, other) in to.iter().enumerate() {
            let exchanged = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = exchanged.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], expect: &[&str]) {
        let found = mistakes_among(names.iter().map(|name| (*name).to_owned()), &known());
        assert_eq!(found, expect, "{names:?}");
    }

    #[test]
    fn a_misspelt_variable_is_named_beside_the_one_that_may_be_meant() {
        let not_read = |name: &str, meant: &str| format!("the variable {name} is not read: {meant}");
        let shard = not_read("TALLYRING_SHARD", "TALLYRING_SHARDS may be meant");
        let address = not_read("TALLYRING_HTP_ADR", "TALLYRING_HTTP_ADDR may be meant");
        let colour = not_read("TALLYRING_COLOUR_SCHEME", "`tallyring serve --help` names those that are");
        check(&["TALLYRING_SHARD", "TALLYRING_HTP_ADR", "TALLYRING_COLOUR_SCHEME"], &[&colour, &address, &shard]);
    }

    #[test]
    fn what_is_read_and_what_is_not_ours_is_no_mistake() {
        check(&["TALLYRING_SHARDS", "TALLYRING_TOKEN", "TALLYRING_LOG", "TALLYRING_AUTHOR", "TALLYRING_TLS_CA"], &[]);
        check(&["PATH", "tallyring_shard", "TALLYRING"], &[]);
        check(&["TALLYRING_PORT", "TALLYRING_PORT_4170_TCP_ADDR", "TALLYRING_SERVICE_HOST"], &[]);
        check(&["TALLYRING_HTTP_SERVICE_PORT_WEB"], &[]);
    }

    #[test]
    fn a_distance_counts_letters() {
        for (from, to, expect) in [("", "", 0), ("abc", "abc", 0), ("abc", "abd", 1), ("abc", "bc", 1), ("", "abc", 3)]
        {
            assert_eq!((distance(from, to), distance(to, from)), (expect, expect), "{from} {to}");
        }
    }
}
