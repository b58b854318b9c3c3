//! The shapes of what is asked and answered.

use serde_json::{Map, Value, json};
use tallyring_engine::{PERIOD_US_MAX, RESERVATION_TTL_US_MAX, UNITS_MAX};
use tallyring_protocol::ring::WEIGHT_MAX;

use crate::door::http::milliseconds::MILLIS_MAX;

/// A shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Schema {
    Any,
    Text,
    Key,
    Name,
    Version,
    Question,
    Correction,
    Verdict,
    Settlement,
    Event,
    EventAnswer,
    Held,
    Reset,
    Published,
    History,
    Cluster,
    Weight,
    Changed,
    Problem,
}

impl Schema {
    /// The shape itself if it is short, else where it stands.
    pub(super) fn schema(self) -> Value {
        match self {
            Schema::Any => json!(true),
            Schema::Text => json!({ "type": "string" }),
            Schema::Key => json!({ "type": "string", "minLength": 1, "maxLength": 512 }),
            Schema::Name => json!({ "type": "string", "minLength": 1 }),
            Schema::Version => json!({ "type": "integer", "minimum": 1 }),
            named => json!({ "$ref": format!("#/components/schemas/{named:?}") }),
        }
    }
}

/// Every shape that has a name.
pub(super) fn all() -> Value {
    json!({
        "Question": question(),
        "Correction": correction(),
        "Verdict": verdict(),
        "Settlement": object(
            &["settled", "version", "checks"],
            json!({
                "settled": { "type": "boolean", "description": "Whether there was anything to settle." },
                "version": count(),
                "checks": { "type": "array", "items": settled_check() },
            }),
        ),
        "Event": event(),
        "EventAnswer": event_answer(),
        "Held": object(
            &["key", "budgets"],
            json!({ "key": { "type": "string" }, "budgets": { "type": "array", "items": budget() } }),
        ),
        "Reset": object(&["found"], json!({ "found": { "type": "boolean" } })),
        "Published": object(
            &["version", "lineage", "changed", "warnings"],
            json!({
                "version": count(),
                "lineage": count(),
                "changed": { "type": "boolean" },
                "warnings": { "type": "array", "items": fault() },
            }),
        ),
        "History": history(),
        "Cluster": cluster(),
        "Weight": object(&["weight"], json!({ "weight": integer(0, WEIGHT_MAX.into()) })),
        "Changed": object(&["epoch"], json!({ "epoch": count() })),
        "Problem": problem(),
    })
}

fn cluster() -> Value {
    object(
        &[
            "node",
            "cluster",
            "epoch",
            "gateways",
            "feature_level",
            "leader",
            "term",
            "applied",
            "clock_behind_us",
            "members",
        ],
        json!({
            "node": { "type": "integer", "minimum": 0, "description": "The node that answers." },
            "cluster": { "type": "string", "description": "Tells the cluster from others." },
            "epoch": { "type": "integer", "minimum": 0, "description": "Grows with every change of the ring." },
            "gateways": count(),
            "feature_level": count(),
            "leader": { "type": ["integer", "null"], "minimum": 0, "description": "null: nobody that the node knows of." },
            "term": { "type": "integer", "minimum": 0, "description": "The how-manieth leader it is." },
            "applied": { "type": "integer", "minimum": 0, "description": "Entries of the log that the node has applied." },
            "clock_behind_us": { "type": "integer", "description": "How far the node's clock is behind what it follows." },
            "members": { "type": "array", "items": member() },
        }),
    )
}

fn member() -> Value {
    let address = || json!({ "type": "string", "description": "host:port" });
    object(
        &[
            "id",
            "native",
            "http",
            "resp",
            "peer",
            "zone",
            "weight",
            "shards",
            "share_ppm",
            "state",
            "votes",
            "lag",
            "version",
            "feature_level",
        ],
        json!({
            "id": count(),
            "native": address(),
            "http": address(),
            "resp": address(),
            "peer": address(),
            "zone": { "type": "string" },
            "weight": count(),
            "shards": count(),
            "share_ppm": { "type": "integer", "minimum": 0, "maximum": 1_000_000, "description": "Its part of all keys." },
            "state": { "enum": ["serving", "draining", "down"] },
            "votes": { "type": "boolean", "description": "Whether it votes on changes." },
            "lag": { "type": ["integer", "null"], "minimum": 0, "description": "Entries that it lacks; only the leader knows." },
            "version": { "type": "string" },
            "feature_level": count(),
        }),
    )
}

/// An object that has these fields and no others.
#[allow(clippy::needless_pass_by_value, reason = "a value is made where it is handed over")]
fn object(required: &[&str], properties: Value) -> Value {
    let mut object = json!({ "type": "object", "required": required, "additionalProperties": false });
    object["properties"] = properties;
    object
}

fn integer(minimum: u64, maximum: u64) -> Value {
    json!({ "type": "integer", "minimum": minimum, "maximum": maximum })
}

fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn text_or_null() -> Value {
    json!({ "type": ["string", "null"] })
}

fn id() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": 128 })
}

fn texts(description: &str) -> Value {
    json!({ "type": "object", "description": description, "maxProperties": 128, "additionalProperties": { "type": "string" } })
}

/// A wait in milliseconds, rounded up.
fn wait() -> Value {
    integer(0, MILLIS_MAX)
}

/// The same, or null: never.
fn wait_or_never() -> Value {
    json!({ "type": ["integer", "null"], "minimum": 0, "maximum": MILLIS_MAX, "description": "null = never" })
}

/// What a gateway says of a request; what is not said is not known.
fn request_fields() -> Map<String, Value> {
    let fields = json!({
        "client": text_or_null(),
        "tenant": text_or_null(),
        "tier": text_or_null(),
        "ip": { "type": ["string", "null"], "anyOf": [{ "format": "ipv4" }, { "format": "ipv6" }, { "type": "null" }] },
        "method": { "type": "string" },
        "path": { "type": "string" },
        "headers": texts("Of several values of a header the first counts."),
        "attributes": texts("What else the application knows."),
        "priority": text_or_null(),
        "cost": integer(0, UNITS_MAX),
        "reserve": {
            "type": ["object", "null"],
            "description": "Makes the charge a reservation under every enforced rule that applies.",
            "required": ["id", "ttl_ms"],
            "properties": { "id": id(), "ttl_ms": integer(1, RESERVATION_TTL_US_MAX / 1_000) },
            "additionalProperties": false,
        },
    });
    match fields {
        Value::Object(fields) => fields,
        _ => unreachable!("it was just written as an object"),
    }
}

fn question() -> Value {
    let mut question = object(&[], Value::Object(request_fields()));
    question["examples"] = json!([{ "client": "cust_42", "tier": "free", "method": "POST", "path": "/v1/charges" }]);
    question
}

fn correction() -> Value {
    let mut fields = request_fields();
    fields.insert("id".to_owned(), id());
    fields.insert("actual".to_owned(), integer(0, UNITS_MAX));
    object(&["id", "actual"], Value::Object(fields))
}

fn verdict() -> Value {
    let required = [
        "allowed",
        "rule",
        "limit",
        "remaining",
        "retry_after_ms",
        "reset_after_ms",
        "level",
        "source",
        "version",
        "checks",
        "headers",
    ];
    let nobody = "null if no rule applies";
    object(
        &required,
        json!({
            "allowed": { "type": "boolean" },
            "rule": { "type": ["string", "null"], "description": "The rule that speaks; null if none applies." },
            "limit": { "type": ["integer", "null"], "description": nobody },
            "remaining": { "type": ["integer", "null"], "description": nobody },
            "retry_after_ms": wait_or_never(),
            "reset_after_ms": wait(),
            "delay_ms": wait(),
            "level": { "enum": ["ok", "soft", "denied"] },
            "source": { "enum": ["store", "deny_cache", "grant", "fallback"] },
            "version": count(),
            "checks": { "type": "array", "maxItems": 16, "items": check() },
            "headers": {
                "type": "object",
                "description": "What the gateway sends with its response.",
                "additionalProperties": { "type": "string" },
            },
        }),
    )
}

fn check() -> Value {
    object(
        &["rule", "group", "allowed", "limit", "remaining", "retry_after_ms", "reset_after_ms"],
        json!({
            "rule": { "type": "string" },
            "group": { "type": "string" },
            "allowed": { "type": "boolean" },
            "limit": count(),
            "remaining": count(),
            "retry_after_ms": wait_or_never(),
            "reset_after_ms": wait(),
            "delay_ms": wait(),
        }),
    )
}

fn settled_check() -> Value {
    object(
        &["rule", "group", "settled"],
        json!({
            "rule": { "type": "string" },
            "group": { "type": "string" },
            "settled": { "type": "boolean" },
            "remaining": count(),
            "reset_after_ms": wait(),
        }),
    )
}

/// An event of `tallyring trace` without its instant. Which fields it needs depends on `op`.
fn event() -> Value {
    let fields = event_fields();
    json!({
        "type": "object",
        "description": "Fields that an operation does not use are ignored.",
        "properties": {
            "op": { "enum": ["check", "check_all", "take", "refund", "reserve", "settle", "acquire", "release"] },
            "key": fields["key"],
            "algorithm": fields["algorithm"],
            "limit": fields["limit"],
            "period_us": fields["period_us"],
            "calendar": fields["calendar"],
            "burst": fields["burst"],
            "cost": fields["cost"],
            "keep": fields["keep"],
            "force": fields["force"],
            "charged_at_us": integer(0, MILLIS_MAX),
            "id": id(),
            "ttl_us": integer(1, PERIOD_US_MAX),
            "holder": id(),
            "actual": integer(0, UNITS_MAX),
            "checks": {
                "type": "array",
                "minItems": 1,
                "maxItems": 16,
                "items": { "type": "object", "properties": fields },
            },
        },
        "examples": [{ "key": "cust_42", "algorithm": "token_bucket", "limit": 100, "period_us": 60_000_000 }],
    })
}

/// Fields of a check, alone or as a part of a check_all.
fn event_fields() -> Value {
    json!({
        "key": { "type": "string", "minLength": 1, "maxLength": 512 },
        "algorithm": {
            "enum": ["token_bucket", "gcra", "leaky_bucket", "fixed_window", "sliding_log", "sliding_counter"],
        },
        "limit": integer(1, UNITS_MAX),
        "period_us": integer(1, PERIOD_US_MAX),
        "calendar": { "enum": ["day", "week", "month"] },
        "burst": integer(1, UNITS_MAX),
        "cost": integer(0, UNITS_MAX),
        "keep": integer(0, UNITS_MAX),
        "force": { "type": "boolean" },
    })
}

fn event_answer() -> Value {
    let never = json!({ "type": ["integer", "null"], "minimum": 0, "description": "null = never" });
    let decision = object(
        &["allowed", "limit", "remaining", "retry_after_us", "reset_after_us"],
        json!({
            "allowed": { "type": "boolean" },
            "limit": count(),
            "remaining": count(),
            "retry_after_us": never,
            "reset_after_us": count(),
            "charged": count(),
            "delay_us": count(),
        }),
    );
    json!({ "oneOf": [
        decision,
        object(
            &["allowed", "retry_after_us", "checks"],
            json!({
                "allowed": { "type": "boolean" },
                "retry_after_us": never,
                "checks": { "type": "array", "items": decision },
            }),
        ),
        object(
            &["granted", "remaining", "reset_after_us"],
            json!({ "granted": count(), "remaining": count(), "reset_after_us": count() }),
        ),
        object(
            &["settled", "remaining", "reset_after_us"],
            json!({ "settled": { "const": true }, "remaining": count(), "reset_after_us": count() }),
        ),
        object(&["settled"], json!({ "settled": { "const": false } })),
        object(
            &["allowed", "limit", "in_use", "retry_after_us"],
            json!({
                "allowed": { "type": "boolean" }, "limit": count(), "in_use": count(), "retry_after_us": never,
            }),
        ),
        object(&["released", "in_use"], json!({ "released": { "type": "boolean" }, "in_use": count() })),
    ] })
}

fn budget() -> Value {
    object(
        &["algorithm", "limit", "remaining", "reset_after_ms"],
        json!({
            "algorithm": { "type": "string" },
            "limit": count(),
            "period_us": count(),
            "calendar": { "type": "string" },
            "burst": count(),
            "remaining": count(),
            "reset_after_ms": wait(),
        }),
    )
}

fn history() -> Value {
    let version = object(
        &["version", "published_at_us", "author", "comment", "bytes"],
        json!({
            "version": count(),
            "published_at_us": count(),
            "author": { "type": "string" },
            "comment": { "type": "string" },
            "bytes": count(),
        }),
    );
    object(
        &["live", "lineage", "versions"],
        json!({ "live": count(), "lineage": count(), "versions": { "type": "array", "items": version } }),
    )
}

fn fault() -> Value {
    object(
        &["path", "reason"],
        json!({ "line": count(), "path": { "type": "string" }, "reason": { "type": "string" } }),
    )
}

fn problem() -> Value {
    object(
        &["type", "title", "status", "detail"],
        json!({
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string" },
            "errors": { "type": "array", "items": fault() },
        }),
    )
}
