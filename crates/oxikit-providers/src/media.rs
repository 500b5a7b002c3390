//! Converts media parts between Genkit's URLs and the types of rig.

use oxikit_ai::wire::Media;
use oxikit_ai::{Result, Status};
use rig_core::completion::{Media as Sent, Place, ReplayTarget};
use rig_core::message::{
    Audio, AudioMediaType, Document, DocumentMediaType, DocumentSourceKind as Source, Image,
    ImageMediaType, Message, MimeType, ToolResultContent, UserContent, Video, VideoMediaType,
};

/// A media part of a user's message.
pub(crate) fn user_content(media: &Media) -> Result<UserContent> {
    let (data, media_type) = open(media)?;
    let Some(media_type) = media_type else {
        // Most links without a type are images. If the provider needs the type,
        // `refuse_unsendable` reports it.
        return Ok(UserContent::Image(image(data, None)));
    };
    let (family, _) = media_type.split_once('/').unwrap_or_default();
    let unknown = || Status::invalid_argument(format!("`{media_type}` is not sent to models"));
    Ok(match family {
        "image" => UserContent::Image(image(data, Some(image_type(&media_type)?))),
        "audio" => UserContent::Audio(Audio {
            data,
            media_type: Some(AudioMediaType::from_mime_type(&media_type).ok_or_else(unknown)?),
        }),
        "video" => UserContent::Video(Video {
            data,
            media_type: Some(VideoMediaType::from_mime_type(&media_type).ok_or_else(unknown)?),
            additional_params: None,
        }),
        _ => UserContent::Document(Document {
            data,
            media_type: Some(DocumentMediaType::from_mime_type(&media_type).ok_or_else(unknown)?),
            additional_params: None,
        }),
    })
}

/// An image in the response of a tool or in a message of a model.
pub(crate) fn picture(media: &Media) -> Result<Image> {
    let (data, media_type) = open(media)?;
    let media_type = media_type.as_deref().map(image_type).transpose()?;
    Ok(image(data, media_type))
}

/// An image that a model has made, as the media of a part.
pub(crate) fn made(image: &Image) -> Option<Media> {
    let content_type = image.media_type.as_ref().map(MimeType::to_mime_type);
    let url = match &image.data {
        Source::Url(url) => url.clone(),
        Source::Base64(data) => {
            format!("data:{};base64,{data}", content_type.unwrap_or("image/png"))
        }
        _ => return None,
    };
    Some(Media { url, content_type: content_type.map(str::to_owned) })
}

fn image(data: Source, media_type: Option<ImageMediaType>) -> Image {
    Image { data, media_type, detail: None, native: None }
}

/// The image type of rig; an error if models do not accept it.
fn image_type(media_type: &str) -> Result<ImageMediaType> {
    ImageMediaType::from_mime_type(media_type)
        .ok_or_else(|| Status::invalid_argument(format!("`{media_type}` is not sent to models")))
}

/// The data or link of a media part, and its type if it is known.
fn open(media: &Media) -> Result<(Source, Option<String>)> {
    let stated = media.content_type.as_deref().map(plain_type);
    if let Some(content) = media.url.strip_prefix("data:") {
        let (head, data) = content
            .split_once(',')
            .ok_or_else(|| Status::invalid_argument("a `data:` URL has no comma"))?;
        let head = head.strip_suffix(";base64").ok_or_else(|| {
            Status::invalid_argument("a `data:` URL is taken only with `;base64`")
        })?;
        let media_type = stated.unwrap_or_else(|| plain_type(head));
        return Ok((Source::Base64(data.to_owned()), Some(media_type)));
    }
    if media.url.starts_with("https://") || media.url.starts_with("http://") {
        let media_type = stated.or_else(|| by_extension(&media.url).map(str::to_owned));
        return Ok((Source::Url(media.url.clone()), media_type));
    }
    Err(Status::invalid_argument("a media URL begins with `data:`, `https:` or `http:`"))
}

/// The type without parameters, in the spelling that rig knows.
fn plain_type(media_type: &str) -> String {
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    match media_type.to_ascii_lowercase().as_str() {
        "" => "text/plain",
        "image/jpg" => "image/jpeg",
        "audio/mpeg" => "audio/mp3",
        "audio/x-wav" | "audio/wave" => "audio/wav",
        "audio/mp4" | "audio/x-m4a" => "audio/m4a",
        "video/quicktime" => "video/mov",
        "video/x-msvideo" => "video/avi",
        "application/xml" => "text/xml",
        other => return other.to_owned(),
    }
    .to_owned()
}

/// The type of a link by the extension of its path.
fn by_extension(url: &str) -> Option<&'static str> {
    let path = url.split(['?', '#']).next()?;
    let (_, extension) = path.rsplit('/').next()?.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "heic" => "image/heic",
        "mp3" => "audio/mp3",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        "pdf" => "application/pdf",
        _ => return None,
    })
}

/// Refuses media that the provider does not accept in this form. rig would send a
/// note in its place, and the model would answer as if it had seen the media.
pub(crate) fn refuse_unsendable(
    target: &dyn ReplayTarget,
    model: &str,
    history: &[Message],
) -> Result<()> {
    let accepts = target.accepts(model);
    for message in history {
        let Message::User { content } = message else {
            continue;
        };
        for part in content {
            let (what, is_sent) = match part {
                UserContent::Image(image) => (
                    "this picture",
                    accepts.user_images && target.encodes(model, Sent::Image(image, Place::User)),
                ),
                UserContent::Audio(audio) => {
                    ("this sound", target.encodes(model, Sent::Audio(audio)))
                }
                UserContent::Video(video) => {
                    ("this video", target.encodes(model, Sent::Video(video)))
                }
                UserContent::Document(document) => {
                    ("this document", sends_document(target, model, document))
                }
                UserContent::ToolResult(result) => (
                    "a tool's picture",
                    result.content.iter().all(|item| match item {
                        // If a provider accepts no images in the response of a tool, rig sends
                        // them in a separate message, which cannot be a link.
                        ToolResultContent::Image(image) => {
                            accepts.user_images
                                && target.encodes(model, Sent::Image(image, Place::User))
                        }
                        _ => true,
                    }),
                ),
                UserContent::Text(_) => continue,
            };
            if !is_sent {
                return Err(Status::invalid_argument(format!(
                    "`{model}` cannot take {what} in this form; try a `data:` URL and a `contentType`"
                )));
            }
        }
    }
    Ok(())
}

/// The text of a text document can always be sent.
fn sends_document(target: &dyn ReplayTarget, model: &str, document: &Document) -> bool {
    let is_text = !matches!(document.media_type, Some(DocumentMediaType::PDF) | None);
    let is_here = matches!(document.data, Source::Base64(_) | Source::String(_));
    (is_text && is_here) || target.encodes(model, Sent::Document(document))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(url: &str, content_type: Option<&str>) -> Result<UserContent> {
        user_content(&Media { url: url.to_owned(), content_type: content_type.map(str::to_owned) })
    }

    #[test]
    fn a_data_url_says_its_own_type() {
        let picture = part("data:image/jpg;base64,AAAA", None).unwrap();
        assert_eq!(picture, UserContent::image_base64("AAAA", Some(ImageMediaType::JPEG), None));
    }

    #[test]
    fn the_type_of_a_link_is_stated_or_guessed() {
        let stated = part("https://example.com/x?size=1", Some("application/pdf")).unwrap();
        assert!(matches!(stated, UserContent::Document(_)));
        let guessed = part("https://example.com/a.b/clip.MP4?size=1", None).unwrap();
        assert!(matches!(guessed, UserContent::Video(_)));
        let unknown = part("https://example.com/cat", None).unwrap();
        assert!(matches!(unknown, UserContent::Image(_)));
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        for (url, content_type) in [
            ("data:image/png,AAAA", None),
            ("data:nothing", None),
            ("file:///etc/passwd", None),
            ("data:image/x-unknown;base64,AAAA", None),
            ("https://example.com/x", Some("application/zip")),
        ] {
            assert!(part(url, content_type).is_err(), "{url}");
        }
    }
}
