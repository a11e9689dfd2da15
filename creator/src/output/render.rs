//! Renders every output from one allocation; it writes nothing.

use crate::{
    choices::Format,
    output::{Allocation, env, hocon, json, write::Output},
    place::Source,
    settings,
    source::{self, SourceError},
    template::{TemplateError, TextTemplate},
};

/// An output cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A `.conf` file needs a port that the Service does not have.
    #[error(transparent)]
    Port(#[from] hocon::NoSuchPort),
    /// An `.env` file would hold one variable twice, or a value that it cannot.
    #[error(transparent)]
    Env(#[from] env::EnvError),
    /// The user's own format cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The user's own format is wrong.
    #[error(transparent)]
    Template(#[from] TemplateError),
}

/// The outputs, ready to be rendered.
#[derive(Debug)]
pub struct Renderers<'a> {
    outputs: Vec<(&'a settings::Output, Renderer)>,
    akka: hocon::Akka,
}

#[derive(Debug)]
enum Renderer {
    Conf,
    Env,
    Json,
    Own(Box<TextTemplate>),
}

impl<'a> Renderers<'a> {
    /// Reads the user's own formats.
    ///
    /// # Errors
    /// Where one cannot be read or is no template.
    pub fn prepare(outputs: &'a [settings::Output], akka: hocon::Akka) -> Result<Self, RenderError> {
        let outputs = outputs.iter().map(|output| Ok((output, renderer(&output.format)?)));
        Ok(Self { outputs: outputs.collect::<Result<_, RenderError>>()?, akka })
    }

    /// Whether any output tells of the node. HOCON does not.
    #[must_use]
    pub fn need_node(&self) -> bool {
        self.outputs.iter().any(|(_, renderer)| !matches!(renderer, Renderer::Conf))
    }

    /// The Akka ports, where an output names them.
    #[must_use]
    pub fn akka(&self) -> Option<&hocon::Akka> {
        self.outputs.iter().any(|(_, renderer)| matches!(renderer, Renderer::Conf)).then_some(&self.akka)
    }

    /// Every output's text.
    ///
    /// # Errors
    /// Where an output cannot tell of this allocation.
    pub fn render(&self, allocation: &Allocation) -> Result<Vec<Output>, RenderError> {
        let rendered = self.outputs.iter().map(|(output, renderer)| {
            let text = match renderer {
                Renderer::Conf => hocon::render(allocation, &self.akka)?,
                Renderer::Env => env::render(allocation)?,
                Renderer::Json => json::render(allocation),
                Renderer::Own(template) => template.render(&json::context(allocation))?,
            };
            Ok(Output { path: output.path.clone(), text })
        });
        rendered.collect()
    }
}

fn renderer(format: &Format) -> Result<Renderer, RenderError> {
    Ok(match format {
        Format::Conf => Renderer::Conf,
        Format::Env => Renderer::Env,
        Format::Json => Renderer::Json,
        Format::Template(path) => {
            let text = source::from_file(path)?;
            Renderer::Own(Box::new(TextTemplate::parse(&Source::File(path.clone()), &text)?))
        }
    })
}
