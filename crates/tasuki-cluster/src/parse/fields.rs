//! Reading tables of TOML: types, ranges, unknown and missing keys. What is wrong is recorded and reading
//! goes on, so that all errors of a file are reported at once.

use super::{
    problem::Problem,
    report::{Findings, Span},
};
use crate::{Rate, names::nearest};
use serde_spanned::Spanned;
use std::{fmt::Display, ops::RangeInclusive, str::FromStr};
use toml::de::{DeTable, DeValue};

pub(super) type Value<'i> = Spanned<DeValue<'i>>;

/// A table that is being read.
pub(super) struct Fields<'a, 'i> {
    table: &'a DeTable<'i>,
    pub(super) span: Span,
    /// Key of the table, as `host.nic`; empty for the file.
    path: &'static str,
    findings: &'a Findings,
}

impl<'a, 'i> Fields<'a, 'i> {
    /// Begins to read a table that may have these keys. Other keys are reported.
    pub(super) fn new(
        table: &'a DeTable<'i>,
        span: Span,
        path: &'static str,
        known: &[&'static str],
        findings: &'a Findings,
    ) -> Self {
        let fields = Self { table, span, path, findings };
        for (key, _) in table.iter() {
            let name = key.get_ref().as_ref();
            if !known.contains(&name) {
                let near = nearest(name, known.iter().copied());
                let problem = Problem::UnknownKey { key: name.into(), near, known: known.to_vec() };
                findings.add(key.span(), fields.key(name), problem);
            }
        }
        fields
    }

    /// Like [`Fields::new`], for a value that should be a table.
    pub(super) fn of(
        value: &'a Value<'i>,
        path: &'static str,
        known: &[&'static str],
        findings: &'a Findings,
    ) -> Option<Self> {
        match value.get_ref() {
            DeValue::Table(table) => Some(Self::new(table, value.span(), path, known, findings)),
            other => {
                let problem =
                    Problem::WrongType { expected: "a table of keys and values", found: kind(other) };
                findings.add(value.span(), path, problem);
                None
            }
        }
    }

    pub(super) fn key(&self, name: &str) -> String {
        if self.path.is_empty() { name.into() } else { format!("{}.{name}", self.path) }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Value<'i>> {
        self.table.iter().find(|(key, _)| key.get_ref() == name).map(|(_, value)| value)
    }

    pub(super) fn note(&self, span: Span, name: &str, problem: Problem) {
        self.findings.add(span, self.key(name), problem);
    }

    fn wrong_type(&self, value: &Value<'_>, name: &str, expected: &'static str) {
        let found = kind(value.get_ref());
        self.note(value.span(), name, Problem::WrongType { expected, found });
    }

    /// Reports that a key is missing.
    pub(super) fn missing(&self, key: &'static str) {
        self.note(self.span.clone(), key, Problem::MissingKey { key });
    }

    pub(super) fn string(&self, name: &str, expected: &'static str) -> Option<Spanned<String>> {
        let value = self.get(name)?;
        let text = value.get_ref().as_str().map(|text| Spanned::new(value.span(), text.to_owned()));
        if text.is_none() {
            self.wrong_type(value, name, expected);
        }
        text
    }

    /// Reads a string that must be there.
    pub(super) fn required(&self, name: &'static str, expected: &'static str) -> Option<Spanned<String>> {
        if self.get(name).is_none() {
            self.missing(name);
        }
        self.string(name, expected)
    }

    /// Reads a string that has a form of its own.
    pub(super) fn parsed<T: FromStr<Err: Display>>(
        &self,
        name: &str,
        expected: &'static str,
    ) -> Option<Spanned<T>> {
        let text = self.string(name, expected)?;
        match text.get_ref().parse() {
            Ok(value) => Some(Spanned::new(text.span(), value)),
            Err(error) => {
                self.note(text.span(), name, Problem::BadValue(error.to_string()));
                None
            }
        }
    }

    /// Reads a rate: a string, or an integer of bit/s.
    pub(super) fn rate(&self, name: &str) -> Option<Rate> {
        let value = self.get(name)?;
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            // Display alone would drop the radix of 0x3b9aca00.
            DeValue::Integer(integer) => match u64::from_str_radix(integer.as_str(), integer.radix()) {
                Ok(bits) => bits.to_string(),
                Err(_) => integer.to_string(),
            },
            _ => {
                self.wrong_type(value, name, "a rate, as \"1G\"");
                return None;
            }
        };
        text.parse()
            .map_err(|error: crate::RateError| {
                self.note(value.span(), name, Problem::BadValue(error.to_string()));
            })
            .ok()
    }

    pub(super) fn count(&self, name: &str, range: RangeInclusive<u32>) -> Option<Spanned<u32>> {
        let value = self.get(name)?;
        let DeValue::Integer(integer) = value.get_ref() else {
            self.wrong_type(value, name, "a whole number");
            return None;
        };
        let number = u32::from_str_radix(integer.as_str(), integer.radix()).ok();
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            self.note(value.span(), name, Problem::OutOfRange { value: integer.to_string(), range });
        }
        number.map(|number| Spanned::new(value.span(), number))
    }

    pub(super) fn boolean(&self, name: &str) -> Option<bool> {
        let value = self.get(name)?;
        let boolean = value.get_ref().as_bool();
        if boolean.is_none() {
            self.wrong_type(value, name, "true or false");
        }
        boolean
    }

    /// Reads a number that may have decimals.
    pub(super) fn number(&self, name: &str) -> Option<Spanned<f64>> {
        let value = self.get(name)?;
        let number = match value.get_ref() {
            DeValue::Float(float) => float.as_str().parse().ok(),
            DeValue::Integer(integer) => {
                i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(|number| number as f64)
            }
            _ => None,
        };
        if number.is_none() {
            self.wrong_type(value, name, "a number, as 1.5");
        }
        number.map(|number| Spanned::new(value.span(), number))
    }

    /// Reads names in an array of texts; none if the key is missing.
    pub(super) fn names(&self, name: &str, expected: &'static str) -> Vec<Spanned<String>> {
        let of = |value: &Value<'_>| match value.get_ref().as_str() {
            Some(text) => Some(Spanned::new(value.span(), text.to_owned())),
            None => {
                self.wrong_type(value, name, expected);
                None
            }
        };
        self.array(name, expected).iter().filter_map(of).collect()
    }

    /// Reads the elements of an array; none if the key is missing.
    pub(super) fn array(&self, name: &str, expected: &'static str) -> &'a [Value<'i>] {
        let Some(value) = self.get(name) else { return &[] };
        match value.get_ref() {
            DeValue::Array(array) => array,
            _ => {
                self.wrong_type(value, name, expected);
                &[]
            }
        }
    }
}

/// The name of a type of TOML, for messages.
pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with decimals",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
