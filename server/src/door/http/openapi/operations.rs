//! What can be asked, a row each.

use super::schemas::Schema;

/// One method of one path.
pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) who: Who,
    pub(super) parameters: &'static [Parameter],
    pub(super) request: Option<Content>,
    /// Statuses that are no problem, what they mean and what they come with.
    pub(super) responses: &'static [(u16, &'static str, Content)],
    /// Problems that only this operation has.
    pub(super) problems: &'static [(u16, &'static str)],
}

/// Who may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Anybody,
    /// Whoever has a token.
    Client,
    /// Whoever has an admin's token.
    Admin,
}

/// Something outside of the body.
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) place: &'static str,
    pub(super) required: bool,
    pub(super) description: &'static str,
    pub(super) schema: Schema,
}

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Nothing,
    Text,
    Metrics,
    Rules,
    Problem,
    Json(Schema),
}

impl Content {
    pub(super) fn media_types(self) -> Vec<(&'static str, Schema)> {
        match self {
            Content::Nothing => Vec::new(),
            Content::Text => vec![("text/plain", Schema::Text)],
            Content::Metrics => vec![("text/plain", Schema::Text)],
            Content::Rules => vec![("application/toml", Schema::Text), ("application/json", Schema::Any)],
            Content::Problem => vec![("application/problem+json", Schema::Problem)],
            Content::Json(schema) => vec![("application/json", schema)],
        }
    }
}

impl Operation {
    /// Every problem that it can answer with.
    pub(super) fn errors(&self) -> impl Iterator<Item = (u16, &'static str)> {
        let token: &[_] = match self.who {
            Who::Anybody => &[],
            Who::Client => &[(401, "A token is needed, or is not known."), (421, "The Host is no name of this node.")],
            Who::Admin => &[
                (401, "A token is needed, or is not known."),
                (403, "The token is no admin's."),
                (421, "The Host is no name of this node."),
            ],
        };
        let body: &[_] = match self.request {
            None => &[],
            Some(_) => &[
                (408, "The body did not arrive in time."),
                (413, "The body is too long."),
                (415, "The body is in another language."),
            ],
        };
        token.iter().chain(body).chain(self.problems).copied()
    }
}

const KEY: Parameter = Parameter {
    name: "key",
    place: "path",
    required: true,
    description: "A raw key of 1 ..= 512 bytes; the text between its first { and the next } places it, else the whole.",
    schema: Schema::Key,
};

const TIER: Parameter =
    Parameter { name: "tier", place: "path", required: true, description: "The tier's name.", schema: Schema::Name };

const MEMBER: Parameter = Parameter {
    name: "id",
    place: "path",
    required: true,
    description: "The number of a member.",
    schema: Schema::Version,
};

const EDITION: Parameter = Parameter {
    name: "version",
    place: "path",
    required: true,
    description: "The number of a version.",
    schema: Schema::Version,
};

const ACCEPT_KNOWN: Parameter = Parameter {
    name: "If-None-Match",
    place: "header",
    required: false,
    description: "The version that is known already, by the ETag that it came with.",
    schema: Schema::Text,
};

const OVER: Parameter = Parameter {
    name: "If-Match",
    place: "header",
    required: false,
    description: "The version that this is to replace, by its ETag; * = whatever is live. Without it: 428.",
    schema: Schema::Text,
};

const AUTHOR: Parameter = Parameter {
    name: "author",
    place: "query",
    required: false,
    description: "Who publishes it, as history tells.",
    schema: Schema::Text,
};

const COMMENT: Parameter =
    Parameter { name: "comment", place: "query", required: false, description: "Why.", schema: Schema::Text };

const BUSY: (u16, &str) =
    (503, "The key's shard is overloaded, its memory is full, it does not answer, or the key is moving.");
const BAD_FIELD: (u16, &str) = (400, "A field is wrong; errors names its path.");
const BAD_QUERY: (u16, &str) = (400, "The document or the query is wrong; nothing has changed.");
const UNREADABLE: (u16, &str) = (406, "Rules are TOML or JSON.");
const CONFLICT: (u16, &str) = (412, "Other rules are live than the request expects; nothing has changed.");
const OVER_WHAT: (u16, &str) = (428, "If-Match is missing.");
const NO_MEMBER: (u16, &str) = (404, "No member has this number.");
const NOT_WANTED: (u16, &str) = (409, "The cluster does not want it, and says why; nothing has changed.");
const NOT_AGREED: (u16, &str) = (503, "No majority of the cluster has answered in time; what was live stays live.");

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        method: "post",
        path: "/v1/check",
        id: "check",
        summary: "May this request pass? Charges it for every rule that applies, or for none.",
        who: Who::Client,
        parameters: &[],
        request: Some(Content::Json(Schema::Question)),
        responses: &[(200, "The decision, allowed or not.", Content::Json(Schema::Verdict))],
        problems: &[BAD_FIELD, BUSY],
    },
    Operation {
        method: "post",
        path: "/v1/settle",
        id: "settle",
        summary: "What a reservation really used, told to every rule that it was made under.",
        who: Who::Client,
        parameters: &[],
        request: Some(Content::Json(Schema::Correction)),
        responses: &[(200, "What became of it.", Content::Json(Schema::Settlement))],
        problems: &[BAD_FIELD, BUSY],
    },
    Operation {
        method: "post",
        path: "/v1/limit",
        id: "limit",
        summary: "One operation on explicit numbers. Header Tallyring-At-Us: the instant that a refund can name.",
        who: Who::Client,
        parameters: &[],
        request: Some(Content::Json(Schema::Event)),
        responses: &[(200, "The decision, allowed or not.", Content::Json(Schema::EventAnswer))],
        problems: &[BAD_FIELD, BUSY],
    },
    Operation {
        method: "get",
        path: "/v1/keys/{key}",
        id: "peek",
        summary: "What a raw key has left, under each algorithm that it has used something of.",
        who: Who::Client,
        parameters: &[KEY],
        request: None,
        responses: &[(200, "Its budgets that are not whole.", Content::Json(Schema::Held))],
        problems: &[BAD_FIELD, BUSY],
    },
    Operation {
        method: "delete",
        path: "/v1/keys/{key}",
        id: "reset",
        summary: "Gives a raw key its whole budget back.",
        who: Who::Admin,
        parameters: &[KEY],
        request: None,
        responses: &[(200, "Whether there was anything to forget.", Content::Json(Schema::Reset))],
        problems: &[BAD_FIELD, BUSY],
    },
    Operation {
        method: "get",
        path: "/v1/rules",
        id: "rules",
        summary: "The rules that are live.",
        who: Who::Client,
        parameters: &[ACCEPT_KNOWN],
        request: None,
        responses: &[(200, "The document.", Content::Rules), (304, "It is known.", Content::Nothing)],
        problems: &[UNREADABLE],
    },
    Operation {
        method: "put",
        path: "/v1/rules",
        id: "publish",
        summary: "Publishes rules, in force in every connected gateway at once.",
        who: Who::Admin,
        parameters: &[OVER, AUTHOR, COMMENT],
        request: Some(Content::Rules),
        responses: &[(200, "They are live.", Content::Json(Schema::Published))],
        problems: &[BAD_QUERY, CONFLICT, OVER_WHAT, NOT_AGREED],
    },
    Operation {
        method: "get",
        path: "/v1/rules/history",
        id: "history",
        summary: "Who published which version when, and why.",
        who: Who::Client,
        parameters: &[],
        request: None,
        responses: &[(200, "Newest first.", Content::Json(Schema::History))],
        problems: &[],
    },
    Operation {
        method: "get",
        path: "/v1/rules/history/{version}",
        id: "edition",
        summary: "One version, as its author wrote it.",
        who: Who::Client,
        parameters: &[EDITION],
        request: None,
        responses: &[(200, "The document.", Content::Rules)],
        problems: &[BAD_FIELD, (404, "It is not kept.")],
    },
    Operation {
        method: "get",
        path: "/v1/limits/{tier}",
        id: "tier",
        summary: "The rules that match this tier alone.",
        who: Who::Client,
        parameters: &[TIER, ACCEPT_KNOWN],
        request: None,
        responses: &[(200, "They, as a document.", Content::Rules), (304, "It is known.", Content::Nothing)],
        problems: &[BAD_FIELD, UNREADABLE],
    },
    Operation {
        method: "put",
        path: "/v1/limits/{tier}",
        id: "publish_tier",
        summary: "Replaces the rules of a tier.",
        who: Who::Admin,
        parameters: &[TIER, OVER, AUTHOR, COMMENT],
        request: Some(Content::Rules),
        responses: &[(200, "They are live.", Content::Json(Schema::Published))],
        problems: &[BAD_QUERY, CONFLICT, OVER_WHAT, NOT_AGREED],
    },
    Operation {
        method: "get",
        path: "/v1/cluster",
        id: "cluster",
        summary: "Who is in the cluster, and how the keys are shared.",
        who: Who::Client,
        parameters: &[],
        request: None,
        responses: &[(200, "As this node sees it.", Content::Json(Schema::Cluster))],
        problems: &[],
    },
    Operation {
        method: "put",
        path: "/v1/cluster/members/{id}",
        id: "reweigh",
        summary: "Change a member's share of the ring.",
        who: Who::Admin,
        parameters: &[MEMBER],
        request: Some(Content::Json(Schema::Weight)),
        responses: &[(200, "It has.", Content::Json(Schema::Changed))],
        problems: &[BAD_FIELD, NO_MEMBER, NOT_WANTED, NOT_AGREED],
    },
    Operation {
        method: "delete",
        path: "/v1/cluster/members/{id}",
        id: "leave",
        summary: "Have a member leave for good.",
        who: Who::Admin,
        parameters: &[MEMBER],
        request: None,
        responses: &[(200, "It is none any more.", Content::Json(Schema::Changed))],
        problems: &[BAD_FIELD, NO_MEMBER, NOT_WANTED, NOT_AGREED],
    },
    Operation {
        method: "get",
        path: "/livez",
        id: "livez",
        summary: "Is the process alive?",
        who: Who::Anybody,
        parameters: &[],
        request: None,
        responses: &[(200, "It is.", Content::Text), (503, "A shard is silent.", Content::Text)],
        problems: &[],
    },
    Operation {
        method: "get",
        path: "/readyz",
        id: "readyz",
        summary: "Does it take requests?",
        who: Who::Anybody,
        parameters: &[],
        request: None,
        responses: &[(200, "It does.", Content::Text), (503, "It drains, or is not up.", Content::Text)],
        problems: &[],
    },
    Operation {
        method: "get",
        path: "/metrics",
        id: "metrics",
        summary: "What was counted, for Prometheus.",
        who: Who::Anybody,
        parameters: &[],
        request: None,
        responses: &[(200, "The counts.", Content::Metrics)],
        problems: &[],
    },
    Operation {
        method: "get",
        path: "/openapi.json",
        id: "openapi",
        summary: "This.",
        who: Who::Anybody,
        parameters: &[],
        request: None,
        responses: &[(200, "OpenAPI 3.1.", Content::Json(Schema::Any))],
        problems: &[],
    },
];
