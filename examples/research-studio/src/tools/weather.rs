//! The weather of a city, from a service that answers `?city=` with JSON.

use oxikit::outgoing::Url;
use oxikit::prelude::*;

use super::Web;
use crate::UserError;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct City {
    /// The name of the city.
    city: String,
}

/// The weather in a city.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Weather {
    pub city: String,
    /// Degrees Celsius.
    pub temperature: f64,
    pub conditions: String,
}

/// The tool that models call.
pub fn tool(web: Web, service: Url) -> Tool {
    Tool::builder("weather")
        .description("The weather in a city, now.")
        .metadata("readOnly", true)
        .handler(move |input: City| {
            let (web, service) = (web.clone(), service.clone());
            async move { of_city(&web, service, &input.city).await }
        })
}

/// Asks the service for the weather of a city.
///
/// # Errors
///
/// [`UserError::UnknownCity`] if the service does not know it.
pub async fn of_city(web: &Web, mut service: Url, city: &str) -> Result<Weather> {
    let unknown = || Status::from(UserError::UnknownCity(city.to_owned()));
    service.query_pairs_mut().append_pair("city", city);
    let answer = web.json(service.as_str()).await?;
    serde_json::from_value(answer).map_err(|_| unknown())
}
