//! Numbers of limits. The order of fields and variants is the encoding.

use serde::{Deserialize, Serialize};
use tallyring_engine::{Algorithm, Ask, Invalid, Limit};
use tallyring_protocol::bounds::RULE_ID_BYTES_MAX;
use tallyring_protocol::{AlgorithmCode, Malformed};

use crate::limits::{algorithm_of, code_of};
use crate::shard::command::{Definition, KeyQuota};
use crate::snapshot::WirePeriod;

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Numbers {
    algorithm: u8,
    limit: u64,
    period: WirePeriod,
    burst: Option<u64>,
}

/// A limit, and the rule that it is of. Named once on a line, then known by its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Terms {
    rule: String,
    shadow: bool,
    /// Keys that the rule may hold on the node; 0 = as many as any rule.
    keys_max: u64,
    numbers: Numbers,
}

/// What is asked of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Units {
    cost: u64,
    keep: u64,
    force: bool,
}

impl Numbers {
    pub(in super::super) fn of(limit: Limit) -> Numbers {
        let period = limit.period().into();
        Numbers { algorithm: code_of(limit.algorithm()) as u8, limit: limit.limit(), period, burst: limit.burst() }
    }

    pub(in super::super) fn limit(self) -> Result<Limit, Malformed> {
        let code = AlgorithmCode::from_code(self.algorithm);
        let code = code.ok_or(Malformed::new("algorithm", "a number of docs/protocol.md's table"))?;
        Limit::new(algorithm_of(code), self.limit, self.period.into(), self.burst).map_err(malformed)
    }

    /// The same, of what can be held at the same time.
    pub(in super::super) fn slots(self) -> Result<Limit, Malformed> {
        let limit = self.limit()?;
        match limit.algorithm() {
            Algorithm::Concurrency => Ok(limit),
            _ => Err(Malformed::new("algorithm", "slots are held under concurrency")),
        }
    }
}

impl Terms {
    pub(in super::super) fn of(definition: &Definition, quota: KeyQuota) -> Terms {
        let Definition { rule, shadow, keys_max, limit } = definition;
        let (rule, keys_max) = (rule.to_string(), quota.on_node(*keys_max));
        Terms { rule, shadow: *shadow, keys_max, numbers: Numbers::of(*limit) }
    }

    pub(in super::super) fn definition(self, quota: KeyQuota) -> Result<Definition, Malformed> {
        let Terms { rule, shadow, keys_max, numbers } = self;
        if rule.len() > RULE_ID_BYTES_MAX {
            return Err(Malformed::new("rule", "at most 128 bytes"));
        }
        Ok(Definition { rule: rule.into(), shadow, keys_max: quota.of(keys_max), limit: numbers.limit()? })
    }
}

impl Units {
    pub(in super::super) fn of(Ask { cost, keep, force }: Ask) -> Units {
        Units { cost, keep, force }
    }

    pub(in super::super) fn ask(self) -> Result<Ask, Malformed> {
        Ask::try_new(self.cost, self.keep, self.force).map_err(malformed)
    }
}

/// A number that the engine would not take.
fn malformed(invalid: Invalid) -> Malformed {
    Malformed::new(invalid.field, "out of the engine's bounds, which its own node should have found")
}
