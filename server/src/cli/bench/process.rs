//! Processor time of a process, and which process listens on a port: what `/proc` knows.

use std::fs;
use std::path::Path;

/// A socket's state in `/proc/net/tcp` that means "listening".
const LISTENING: &str = "0A";

/// Nanoseconds of a clock tick, as `/proc/PID/stat` counts: the interface promises 100 a second to every program.
const TICK_NS: u64 = 10_000_000;

/// Nanoseconds of processor time that all threads of `pid` have used; `None` if the process cannot be seen.
pub(super) fn cpu_ns(pid: u32) -> Option<u64> {
    let process = Path::new("/proc").join(pid.to_string());
    scheduled_ns(&process).or_else(|| fs::read_to_string(process.join("stat")).ok().and_then(|stat| ticks_ns(&stat)))
}

/// The same to the nanosecond, from the scheduler's own statistics, where the kernel keeps them.
fn scheduled_ns(process: &Path) -> Option<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(process.join("task")).ok()? {
        let statistics = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        sum += statistics.split_whitespace().next()?.parse::<u64>().ok()?;
    }
    Some(sum)
}

/// User and system time in the text of `/proc/PID/stat`: the 14th and 15th field, counted behind the program's name,
/// which stands in parentheses and may contain anything.
fn ticks_ns(stat: &str) -> Option<u64> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    let mut fields = behind_name.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?) * TICK_NS)
}

/// Bytes of memory that are resident for `pid`; `None` if the process cannot be seen.
pub(super) fn resident_bytes(pid: u32) -> Option<u64> {
    resident_in(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

/// The resident size in the text of `/proc/PID/status`.
fn resident_in(status: &str) -> Option<u64> {
    let size = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = size.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1_024)
}

/// The process that listens on `port` of this machine, if it can be seen from here.
pub(super) fn listening_at(port: u16) -> Option<u32> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let inode = tables.iter().find_map(|table| socket_inode(&fs::read_to_string(table).ok()?, port))?;
    let link = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").ok()?.flatten();
    processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(|pid| holds(*pid, &link))
}

/// The inode of the socket that listens on `port`, from the text of `/proc/net/tcp`.
fn socket_inode(table: &str, port: u16) -> Option<u64> {
    let suffix = format!(":{port:04X}");
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, local, _, state, _, _, _, _, _, inode, ..] = fields[..] else { return None };
        (local.ends_with(&suffix) && state == LISTENING).then(|| inode.parse().ok())?
    })
}

/// Whether one of the process's descriptors is `link`.
fn holds(pid: u32, link: &str) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    descriptors.flatten().any(|fd| fs::read_link(fd.path()).is_ok_and(|target| target == Path::new(link)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:104A 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0
   1: 0100007F:104B 0100007F:104A 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0000000000000000 20 4 30 10 -1
";

    #[test]
    fn a_listening_socket_is_found_by_its_port() {
        assert_eq!(socket_inode(TABLE, 0x104A), Some(4711));
        assert_eq!(socket_inode(TABLE, 0x104B), None, "connected, not listening");
        assert_eq!(socket_inode(TABLE, 1), None);
    }

    #[test]
    fn processor_time_is_read_behind_a_name_with_parentheses() {
        let stat = "42 (a) (b 7) S 1 42 42 0 -1 4194560 200 0 0 0 30 12 0 0 20 0 1 0 100 1000 1";
        assert_eq!(ticks_ns(stat), Some(42 * TICK_NS));
        assert_eq!(ticks_ns("42 (short) S 1"), None);
    }

    #[test]
    fn resident_memory_is_read_in_bytes() {
        assert_eq!(resident_in("Name:\tx\nVmRSS:\t     132 kB\nRssAnon:\t 1 kB\n"), Some(135_168));
        assert_eq!(resident_in("Name:\tx\n"), None);
        assert!(resident_bytes(std::process::id()).unwrap() > 1_000_000);
    }

    #[test]
    fn this_process_uses_processor_time_and_is_found_by_its_listener() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(listening_at(listener.local_addr().unwrap().port()), Some(std::process::id()));
        assert!(cpu_ns(std::process::id()).unwrap() > 0);
    }
}
