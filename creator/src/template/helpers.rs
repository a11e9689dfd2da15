//! `add`, the one helper of our own: predictable ports, as in `nodePort: {{add 31000 Ordinal}}`.

use handlebars::{
    Context, Handlebars, Helper, HelperDef, HelperResult, Output, RenderContext, RenderError, RenderErrorReason,
    ScopedJson,
};
use serde_json::Value as Json;

use super::{problem::RenderProblem, token};

/// Adds integers. Printed, the sum is an integer in the YAML; inside another helper, a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Add;

impl HelperDef for Add {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        call: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        sum(call).map(|sum| ScopedJson::Derived(Json::from(sum)))
    }

    fn call<'reg: 'rc, 'rc>(
        &self,
        call: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        out.write(&token::sum(sum(call)?))?;
        Ok(())
    }
}

fn sum(call: &Helper<'_>) -> Result<i64, RenderError> {
    call.params().iter().try_fold(0_i64, |sum, summand| {
        if summand.is_value_missing() {
            return Err(RenderErrorReason::MissingVariable(summand.relative_path().cloned()).into());
        }
        let number = match summand.value() {
            Json::Number(number) => number.as_i64(),
            // Labels are always text, also the pod's index that Kubernetes keeps in one.
            Json::String(text) => text.parse().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| nested(RenderProblem::NotAnInteger(summand.value().to_string())))?;
        sum.checked_add(number).ok_or_else(|| nested(RenderProblem::Overflow))
    })
}

fn nested(problem: RenderProblem) -> RenderError {
    RenderErrorReason::NestedError(Box::new(problem)).into()
}
