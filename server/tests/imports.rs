//! Who may import whom. The table is the architecture; the `use` lines must agree with it.
#![allow(clippy::unwrap_used, reason = "a source tree that cannot be read must fail the test")]

use std::path::{Path, PathBuf};

/// Our crates, and which of ours each may depend on.
const CRATES: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("server/engine", &[]),
    ("client", &["tallyring-protocol", "tallyring-engine"]),
    ("server", &["tallyring-protocol", "tallyring-engine", "tallyring-client"]),
];

/// The modules of the server, and which of its others, or parts of them, each may name. `sys` is open to all.
const MODULES: &[(&str, &[&str])] = &[
    ("sys", &[]),
    ("tokens", &[]),
    ("data", &[]),
    ("rules", &["cluster::control", "cluster::pulse", "shard"]),
    ("entrance", &["observe"]),
    ("reload", &["entrance", "observe", "tokens"]),
    ("config", &["entrance", "rules", "tokens"]),
    ("event", &[]),
    ("limits", &[]),
    ("observe", &[]),
    (
        "cluster",
        &[
            "entrance::tls",
            "limits",
            "observe",
            "rules::book",
            "rules::edition",
            "rules::publish",
            "rules::text",
            "shard",
            "snapshot",
            "tokens",
        ],
    ),
    ("shard", &["door::resp", "limits", "observe", "tokens"]),
    ("snapshot", &[]),
    ("acceptor", &["cluster", "entrance", "observe", "shard", "tokens"]),
    (
        "door",
        &[
            "cluster::control",
            "cluster::status",
            "cluster::view",
            "entrance",
            "event",
            "limits",
            "observe",
            "rules",
            "shard",
            "tokens",
        ],
    ),
    ("door/resp", &["shard::command"]),
    (
        "node",
        &["acceptor", "cluster", "config", "data", "door", "entrance", "observe", "reload", "rules", "shard", "tokens"],
    ),
    (
        "cli",
        &[
            "cluster::control",
            "cluster::status",
            "config",
            "data",
            "entrance",
            "event",
            "limits",
            "node",
            "rules",
            "tokens",
        ],
    ),
];

/// What no file may name, except below the folders given.
const BANNED: &[(&str, &[&str])] = &[
    ("tokio::net", &["server/src/sys", "client/src/sys", "server/src/cli"]),
    ("turmoil::", &["server/src/sys", "client/src/sys"]),
    ("std::net::TcpStream", &["server/src/sys", "client/src/sys", "server/src/cli"]),
    ("std::net::TcpListener", &["server/src/sys", "client/src/sys", "server/src/cli"]),
    ("tallyring_client", &["server/src/cli", "client"]),
    ("use rand", &["server/src/sys", "client/src/sys"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn sources(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The lines of code of a file, without comments.
fn code(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).map(str::to_owned).collect()
}

#[test]
fn a_crate_depends_on_its_betters_alone() {
    for (folder, allowed) in CRATES {
        let manifest = std::fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
        let ours = dependencies.lines().filter(|line| line.starts_with("tallyring"));
        for line in ours {
            let name = line.split(['.', ' ', '=']).next().unwrap();
            assert!(allowed.contains(&name), "{folder} may not depend on {name}");
        }
    }
}

#[test]
fn a_module_of_the_server_imports_what_the_table_allows() {
    let source = root().join("server/src");
    let mut seen = 0;
    for path in sources(&source) {
        let inside = path.strip_prefix(&source).unwrap().with_extension("");
        let module = inside.iter().next().unwrap().to_str().unwrap();
        if ["main", "lib"].contains(&module) {
            continue;
        }
        // The innermost entry counts: a part of a module may be kept to less than the whole.
        let entry = MODULES.iter().filter(|(name, _)| inside.starts_with(name)).max_by_key(|(name, _)| name.len());
        let (own, allowed) = entry.unwrap_or_else(|| {
            panic!("{}: {module} is not in the table: say whom it may import", path.display());
        });
        let own = own.replace('/', "::");
        for line in code(&path) {
            for after in line.split("crate::").skip(1) {
                let named = after.split(|c: char| !is_of_a_name(c)).next().unwrap();
                let names = |whom: &str| after.strip_prefix(whom).is_some_and(|rest| !rest.starts_with(is_of_a_name));
                let fine = names(&own) || names("sys") || allowed.iter().any(|whom| names(whom));
                assert!(fine || !MODULES.iter().any(|(name, _)| *name == named), "{}: {line}", path.display());
                seen += usize::from(fine);
            }
        }
    }
    assert!(seen > 20, "the test reads no imports: {seen}");
}

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[test]
fn sockets_and_entropy_come_through_the_seams() {
    for folder in ["protocol/src", "server/engine/src", "server/src", "client/src"] {
        for path in sources(&root().join(folder)) {
            let inside = path.strip_prefix(root()).unwrap().to_owned();
            for (name, allowed) in BANNED {
                if allowed.iter().any(|folder| inside.starts_with(folder)) {
                    continue;
                }
                let found = code(&path).into_iter().find(|line| line.contains(name));
                assert_eq!(found, None, "{} names {name}", inside.display());
            }
        }
    }
}

/// What neither the engine nor the protocol may name: they decide in integers, and are handed the time.
const IMPURE: &[&str] = &[
    "f32",
    "f64",
    "std::time::Instant",
    "std::time::SystemTime",
    "std::net::Tcp",
    "std::net::Udp",
    "std::thread",
    "std::fs",
    "tokio",
];

/// The one float: a JSON reader hands decimals over as such, and they are text before anybody counts with them.
const FLOAT_OF_JSON: (&str, &str) = ("protocol/src/rules/value.rs", "f64");

#[test]
fn the_engine_and_the_protocol_know_no_float_no_clock_and_no_socket() {
    for folder in ["protocol/src", "server/engine/src"] {
        for path in sources(&root().join(folder)) {
            for line in code(&path) {
                let impure = IMPURE.iter().find(|name| line.contains(**name));
                let is_allowed = impure.is_none_or(|name| path.ends_with(FLOAT_OF_JSON.0) && *name == FLOAT_OF_JSON.1);
                assert!(is_allowed, "{}: {impure:?} in: {line}", path.display());
            }
        }
    }
}
