//! One span of a trace, as everybody else holds it: a cheap handle that is nothing at all while telemetry is off.
//!
//! A span ends when [`TraceSpan::end`] says so, or else with its last handle. That is why these are not spans of `tracing`,
//! which end with their last handle only: a step is told to be over before the actors have let go of it.

use std::borrow::Cow;
use std::future::Future;
use std::sync::OnceLock;
use std::time::SystemTime;

use opentelemetry::trace::{
    FutureExt as _, SpanBuilder, SpanKind, Status, TraceContextExt as _, Tracer as _,
};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_sdk::trace::SdkTracer;

use crate::carrier::TraceParent;
use crate::name::{Attribute, EventName, SpanName};

/// Makes spans, once somebody has asked for telemetry.
static TRACER: OnceLock<SdkTracer> = OnceLock::new();

/// Has spans made from now on.
pub(crate) fn trace_with(tracer: SdkTracer) {
    // The first one stays: telemetry is set up once a process.
    drop(TRACER.set(tracer));
}

/// One span. Clones are the same span.
#[derive(Debug, Clone, Default)]
pub struct TraceSpan {
    context: Option<Context>,
}

/// An attribute with its value.
pub type Fact = (Attribute, Value);

impl TraceSpan {
    /// Gives a span that is nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Begins a trace.
    #[must_use]
    pub fn root(name: SpanName<'_>) -> Self {
        Self::begin(name, &Context::new(), None, &[])
    }

    /// Begins a trace that is linked to others: related, and not below them.
    #[must_use]
    pub fn root_linked(name: SpanName<'_>, to: &[TraceParent]) -> Self {
        Self::begin(name, &Context::new(), None, to)
    }

    /// Begins a span below the one whose [`TraceSpan::scope`] this is in; a trace of its own if it is in none.
    #[must_use]
    pub fn here(name: SpanName<'_>) -> Self {
        Self::begin(name, &Context::current(), None, &[])
    }

    /// Gives what another process needs to go on below the span whose [`TraceSpan::scope`] this is in.
    #[must_use]
    pub fn parent_here() -> Option<TraceParent> {
        TRACER.get()?;
        TraceParent::of(Context::current().span().span_context())
    }

    /// Begins a span below one of another process; a trace of its own if there is none.
    #[must_use]
    pub fn under(parent: Option<&TraceParent>, name: SpanName<'_>) -> Self {
        let above = parent.map_or_else(Context::new, TraceParent::context);
        Self::begin(name, &above, None, &[])
    }

    /// Begins a span below this one.
    #[must_use]
    pub fn child(&self, name: SpanName<'_>) -> Self {
        self.child_since(name, None)
    }

    /// Begins a span below this one at a moment that is over.
    #[must_use]
    pub fn child_since(&self, name: SpanName<'_>, since: Option<SystemTime>) -> Self {
        match &self.context {
            Some(context) => Self::begin(name, context, since, &[]),
            None => Self::none(),
        }
    }

    fn begin(
        name: SpanName<'_>,
        above: &Context,
        since: Option<SystemTime>,
        to: &[TraceParent],
    ) -> Self {
        let Some(tracer) = TRACER.get() else { return Self::none() };
        let mut builder = SpanBuilder::from_name(name.text()).with_kind(name.kind());
        builder.start_time = since;
        if !to.is_empty() {
            builder = builder.with_links(to.iter().map(TraceParent::link).collect());
        }
        let span = tracer.build_with_context(builder, above);
        Self { context: Some(above.with_span(span)) }
    }

    /// Does something within a span below this one, which fails if that fails.
    ///
    /// # Errors
    /// As `work`.
    pub fn during<T, E>(
        &self,
        name: SpanName<'_>,
        work: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let span = self.child(name);
        let done = span.in_scope(|| work(&span));
        if done.is_err() {
            span.fail("error");
        }
        span.end();
        done
    }

    /// Says whether anybody will see it.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.context.as_ref().is_some_and(|context| context.span().is_recording())
    }

    /// Gives it another name: what it does is known by now.
    pub fn rename(&self, name: SpanName<'_>) {
        if let Some(context) = &self.context {
            context.span().update_name(name.text());
        }
    }

    /// Says that it has to do with another one, which is not above it.
    pub fn link(&self, to: &TraceParent) {
        if let Some(context) = &self.context {
            context.span().add_link(to.link().span_context, Vec::new());
        }
    }

    /// Sets an attribute.
    pub fn set(&self, attribute: Attribute, value: impl Into<Value>) {
        if let Some(context) = &self.context {
            context.span().set_attribute(KeyValue::new(attribute.as_str(), value));
        }
    }

    /// Sets an attribute whose value is known.
    pub fn set_some(&self, attribute: Attribute, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(attribute, value);
        }
    }

    /// Adds something that happened now.
    pub fn event(&self, name: EventName, facts: impl IntoIterator<Item = Fact>) {
        if let Some(context) = &self.context {
            context.span().add_event(name.as_str(), key_values(facts));
        }
    }

    /// Adds something that happened then.
    pub fn event_at(&self, name: EventName, at: SystemTime, facts: impl IntoIterator<Item = Fact>) {
        if let Some(context) = &self.context {
            context.span().add_event_with_timestamp(name.as_str(), at, key_values(facts));
        }
    }

    /// Marks it as failed. `why` is a word, never a text that an agent or a person wrote.
    pub fn fail(&self, why: impl Into<Cow<'static, str>>) {
        if let Some(context) = &self.context {
            let why = why.into();
            context.span().set_attribute(KeyValue::new(Attribute::ErrorType.as_str(), why.clone()));
            context.span().set_status(Status::error(why));
        }
    }

    /// Ends it now. What is said of it afterwards is lost.
    pub fn end(&self) {
        if let Some(context) = &self.context {
            context.span().end();
        }
    }

    /// Ends it at a moment that is over.
    pub fn end_at(&self, at: Option<SystemTime>) {
        match (&self.context, at) {
            (Some(context), Some(at)) => context.span().end_with_timestamp(at),
            (Some(_), None) | (None, _) => self.end(),
        }
    }

    /// Gives what another process needs to go on below it, or to link to it; `None` if nobody will see it.
    #[must_use]
    pub fn parent(&self) -> Option<TraceParent> {
        TraceParent::of(self.context.as_ref()?.span().span_context())
    }

    /// Does something whose log records belong to it.
    pub fn in_scope<T>(&self, work: impl FnOnce() -> T) -> T {
        let _entered = self.context.as_ref().map(|context| context.clone().attach());
        work()
    }

    /// The same for a future: while it is polled, log records belong to the span.
    pub fn scope<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        work.with_context(self.context.clone().unwrap_or_default())
    }
}

fn key_values(facts: impl IntoIterator<Item = Fact>) -> Vec<KeyValue> {
    facts.into_iter().map(|(name, value)| KeyValue::new(name.as_str(), value)).collect()
}

impl SpanName<'_> {
    /// Says which side of a call it stands on.
    fn kind(self) -> SpanKind {
        match self {
            Self::Ask | Self::ContainerStart | Self::InvokeAgent(_) | Self::Command(_) => {
                SpanKind::Client
            }
            Self::Serve => SpanKind::Server,
            Self::Dispatch => SpanKind::Producer,
            Self::Run
            | Self::Step
            | Self::StepOf(_)
            | Self::Reattach
            | Self::LockAcquire
            | Self::Select
            | Self::Preflight
            | Self::Intend
            | Self::ExecuteTool(_)
            | Self::ProofOfWork
            | Self::OutcomeMap
            | Self::JournalAppend => SpanKind::Internal,
        }
    }
}
