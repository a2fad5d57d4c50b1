//! The context of a trace on its way: in the headers of a call, in the environment of a program, in a file.
//!
//! As W3C Trace Context has it, and nothing else: no baggage, which could carry anything.

use std::collections::HashMap;
use std::fmt;

use opentelemetry::Context;
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::{Link, SpanContext, TraceContextExt as _};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tonic::metadata::{MetadataMap, MetadataValue};

const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";

/// The variable with the context of whoever started this process.
pub const TRACEPARENT: &str = "TRACEPARENT";
/// What vendors keep beside it.
pub const TRACESTATE: &str = "TRACESTATE";

/// The longest `tracestate` that goes on, in bytes: what the specification asks everybody to carry.
const LONGEST_STATE: usize = 512;

/// A span of some process, by its ids. Never a secret.
#[derive(Clone, PartialEq)]
pub struct TraceParent(SpanContext);

impl TraceParent {
    pub(crate) fn of(context: &SpanContext) -> Option<Self> {
        context.is_valid().then(|| Self(context.clone()))
    }

    /// Reads the two texts; `None` if the first is no context. A state that is none is left out.
    #[must_use]
    pub fn parse(parent: &str, state: Option<&str>) -> Option<Self> {
        let state = state.filter(|state| state.len() <= LONGEST_STATE);
        let texts = Texts(HashMap::from([(PARENT, parent), (STATE, state.unwrap_or_default())]));
        let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &texts);
        Self::of(context.span().span_context())
    }

    /// Reads the context that a program was started in, from its variables.
    #[must_use]
    pub fn from_variables<'a>(variable: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        Self::parse(variable(TRACEPARENT)?.trim(), variable(TRACESTATE))
    }

    /// Reads the context of a call.
    #[must_use]
    pub fn from_metadata(headers: &MetadataMap) -> Option<Self> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        Self::parse(text(PARENT)?, text(STATE))
    }

    /// Puts it into the headers of a call.
    pub fn put(&self, headers: &mut MetadataMap) {
        let mut put = |name: &'static str, text: String| {
            if let Ok(value) = MetadataValue::try_from(text) {
                headers.insert(name, value);
            }
        };
        put(PARENT, self.to_string());
        if let Some(state) = self.state() {
            put(STATE, state);
        }
    }

    /// Returns the `tracestate`, if there is one.
    #[must_use]
    pub fn state(&self) -> Option<String> {
        let state = self.0.trace_state().header();
        (!state.is_empty()).then_some(state)
    }

    pub(crate) fn context(&self) -> Context {
        Context::new().with_remote_span_context(self.0.clone())
    }

    pub(crate) fn link(&self) -> Link {
        Link::with_context(self.0.clone())
    }
}

/// The `traceparent`.
impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = self.0.trace_flags().to_u8();
        write!(f, "00-{}-{}-{flags:02x}", self.0.trace_id(), self.0.span_id())
    }
}

impl fmt::Debug for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceParent({self})")
    }
}

struct Texts<'a>(HashMap<&'static str, &'a str>);

impl Extractor for Texts<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).copied()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_context_comes_through_headers_and_variables_as_it_went_in() {
        let parent = TraceParent::parse(GOOD, Some("a=1,b=2")).unwrap();
        let mut headers = MetadataMap::new();
        parent.put(&mut headers);
        assert_eq!(TraceParent::from_metadata(&headers).unwrap(), parent);
        let variables = |name: &str| match name {
            TRACEPARENT => Some(GOOD),
            TRACESTATE => Some("a=1,b=2"),
            _ => None,
        };
        assert_eq!(TraceParent::from_variables(variables).unwrap(), parent);
        assert_eq!(parent.to_string(), GOOD);
    }

    #[test]
    fn what_is_no_context_is_none_and_a_bad_state_is_left_out() {
        let zeros = "00-00000000000000000000000000000000-b7ad6b7169203331-01";
        for bad in
            ["", "hello", zeros, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331", "ff"]
        {
            assert!(TraceParent::parse(bad, None).is_none(), "{bad}");
        }
        let long = format!("a={}", "x".repeat(LONGEST_STATE));
        assert_eq!(TraceParent::parse(GOOD, Some(&long)).unwrap().state(), None);
        assert_eq!(TraceParent::parse(GOOD, Some("\n")).unwrap().state(), None);
    }
}
