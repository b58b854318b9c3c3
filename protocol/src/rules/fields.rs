//! Reading a table of a document field by field: what is wrong is noted under its path, and reading goes on.

use std::collections::BTreeMap;

use super::error::Faults;
use super::value::Value;

/// A table that is being read.
pub(crate) struct Fields<'f> {
    path: String,
    table: BTreeMap<String, Value>,
    known: Vec<&'static str>,
    faults: &'f mut Faults,
}

impl<'f> Fields<'f> {
    /// The fields of `value`, which is called `path`; of an empty table if it is none, and that is noted.
    pub(crate) fn new(path: impl Into<String>, value: Value, faults: &'f mut Faults) -> Fields<'f> {
        let path = path.into();
        let table = match value {
            Value::Table(table) => table,
            other => {
                faults.add(if path.is_empty() { "document" } else { &path }, expected("a table", &other));
                BTreeMap::new()
            }
        };
        Fields { path, table, known: Vec::new(), faults }
    }

    pub(crate) fn text(&mut self, name: &'static str) -> Option<String> {
        self.read(name, "a text", |value| match value {
            Value::Text(text) => Ok(text),
            other => Err(other),
        })
    }

    /// A whole number from 0 on.
    pub(crate) fn whole(&mut self, name: &'static str) -> Option<u64> {
        self.read(name, "a whole number from 0 on", |value| match value {
            Value::Integer(number) => u64::try_from(number).map_err(|_| value),
            other => Err(other),
        })
    }

    /// A whole number of either sign.
    pub(crate) fn rank(&mut self, name: &'static str) -> Option<i32> {
        self.read(name, "a whole number of at most 32 bits", |value| match value {
            Value::Integer(number) => i32::try_from(number).map_err(|_| value),
            other => Err(other),
        })
    }

    /// A decimal as a text, or as the text of a number.
    pub(crate) fn decimal(&mut self, name: &'static str) -> Option<String> {
        self.read(name, "a decimal as a text, like \"0.5\"", decimal)
    }

    pub(crate) fn flag(&mut self, name: &'static str) -> Option<bool> {
        self.read(name, "true or false", |value| match value {
            Value::Flag(flag) => Ok(flag),
            other => Err(other),
        })
    }

    /// A list of texts.
    pub(crate) fn texts(&mut self, name: &'static str) -> Option<Vec<String>> {
        let list = self.list(name)?;
        let path = self.path_of(name);
        let texts = list.into_iter().enumerate().map(|(at, value)| match value {
            Value::Text(text) => Some(text),
            other => {
                self.faults.add(format!("{path}[{at}]"), expected("a text", &other));
                None
            }
        });
        texts.collect::<Vec<_>>().into_iter().collect()
    }

    pub(crate) fn list(&mut self, name: &'static str) -> Option<Vec<Value>> {
        self.read(name, "a list", |value| match value {
            Value::List(list) => Ok(list),
            other => Err(other),
        })
    }

    /// A table whose names are the writer's, of decimals.
    pub(crate) fn decimals_by_name(&mut self, name: &'static str) -> BTreeMap<String, String> {
        self.by_name(name, "a decimal as a text, like \"0.5\"", decimal)
    }

    /// A table whose names are the writer's, of texts; a name may also be written behind the table's with a point.
    pub(crate) fn texts_by_name(&mut self, name: &'static str) -> BTreeMap<String, String> {
        self.gather_dotted(name);
        self.by_name(name, "a text", |value| match value {
            Value::Text(text) => Ok(text),
            other => Err(other),
        })
    }

    /// A table with fields of its own.
    pub(crate) fn table(&mut self, name: &'static str) -> Option<Fields<'_>> {
        self.known.push(name);
        let value = self.table.remove(name)?;
        Some(Fields::new(self.path_of(name), value, self.faults))
    }

    /// Notes every field that nobody has asked for.
    pub(crate) fn end(self) {
        for name in self.table.keys() {
            let reason = format!("unknown field; known are {}", self.known.join(", "));
            self.faults.add(self.path_of(name), reason);
        }
    }

    fn read<T>(&mut self, name: &'static str, what: &str, read: impl FnOnce(Value) -> Result<T, Value>) -> Option<T> {
        self.known.push(name);
        match read(self.table.remove(name)?) {
            Ok(read) => Some(read),
            Err(other) => {
                self.faults.add(self.path_of(name), expected(what, &other));
                None
            }
        }
    }

    fn by_name(
        &mut self,
        name: &'static str,
        what: &str,
        read: fn(Value) -> Result<String, Value>,
    ) -> BTreeMap<String, String> {
        let table = self.read(name, "a table", |value| match value {
            Value::Table(table) => Ok(table),
            other => Err(other),
        });
        let path = self.path_of(name);
        let mut texts = BTreeMap::new();
        for (inner, value) in table.unwrap_or_default() {
            let read = read(value).map_err(|other| expected(what, &other));
            if let Some(text) = self.faults.take(format!("{path}.{inner}"), read) {
                texts.insert(inner, text);
            }
        }
        texts
    }

    /// Turns `"header.x": …`, which JSON has no other short form for, into `"header": {"x": …}`.
    fn gather_dotted(&mut self, name: &'static str) {
        let dotted = |key: &String| key.strip_prefix(name).is_some_and(|rest| rest.starts_with('.') && rest.len() > 1);
        let keys: Vec<String> = self.table.keys().filter(|key| dotted(key)).cloned().collect();
        for key in keys {
            let Value::Table(inner) = self.table.entry(name.to_owned()).or_insert(Value::Table(BTreeMap::new())) else {
                return; // it is reported when it is read
            };
            let inner_name = key[name.len() + 1..].to_owned();
            if !inner.contains_key(&inner_name) {
                let value = self.table.remove(&key).expect("the key was listed a moment ago");
                let Some(Value::Table(inner)) = self.table.get_mut(name) else { return };
                inner.insert(inner_name, value);
            }
        }
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

fn decimal(value: Value) -> Result<String, Value> {
    match value {
        Value::Text(text) | Value::Decimal(text) => Ok(text),
        Value::Integer(number) => Ok(number.to_string()),
        other => Err(other),
    }
}

fn expected(what: &str, value: &Value) -> String {
    match value {
        Value::Integer(number) => format!("{number} is not {what}"),
        Value::Decimal(text) => format!("{text} is a decimal number, not {what}"),
        other => format!("{} is not {what}", other.kind()),
    }
}
