//! Who publishes, as they call themselves: nobody checks it, and it is there for people.

use clap::Args;

/// Who and why.
#[derive(Debug, Args)]
pub(super) struct AuthorArgs {
    /// Why, for the history
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(super) comment: String,
    /// Who, for the history [default: user@machine]
    #[arg(long, env = "TALLYRING_AUTHOR", value_name = "NAME")]
    author: Option<String>,
}

impl AuthorArgs {
    /// The name that the history shall show.
    pub(super) fn name(&self) -> String {
        self.author.clone().unwrap_or_else(user_at_machine)
    }
}

fn user_at_machine() -> String {
    let user = ["USER", "LOGNAME"].iter().find_map(|variable| std::env::var(variable).ok()).unwrap_or_default();
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match (user.as_str(), machine.trim()) {
        ("", machine) => machine.to_owned(),
        (user, "") => user.to_owned(),
        (user, machine) => format!("{user}@{machine}"),
    }
}
