//! Where a run took place: a figure without its machine is worth nothing.

use std::fs;

/// A machine as its kernel describes it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(in crate::cli::bench) struct Machine {
    pub(super) processor: String,
    pub(super) processors: usize,
    pub(super) kernel: String,
}

impl Machine {
    /// This one.
    pub(in crate::cli::bench) fn this() -> Machine {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Machine {
            processor: processor(&read("/proc/cpuinfo")),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        }
    }
}

/// The first processor's name in the text of `/proc/cpuinfo`.
fn processor(info: &str) -> String {
    let name = info.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(':'));
    name.map_or("unknown processor", |(_, name)| name.trim()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_goes_by_its_model_name() {
        assert_eq!(processor("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n"), "Some CPU @ 2 GHz");
        assert_eq!(processor(""), "unknown processor");
    }
}
