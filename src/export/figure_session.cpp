#include "export/figure_session.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <zlib.h>

#include "core/error.h"
#include "export/markup.h"

namespace headlight::exporting {
namespace {

constexpr std::string_view kMark = "headlight-session:", kEnd = ":";
constexpr std::string_view kKeyword = "headlight-session";
constexpr std::string_view kPngMagic = "\x89PNG\r\n\x1A\n";
constexpr std::size_t kMaxInflated = std::size_t{64} << 20;

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xFFU);
  return bytes;
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

std::uint32_t check_sum(std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

/// The PNG with one more chunk, its kind and content.
std::string with_chunk(std::string png, const std::string& chunk) {
  constexpr std::size_t kHeaderEnd = 8 + 12 + 13;  // after the chunk IHDR, which comes first
  if (!png.starts_with(kPngMagic) || png.size() < kHeaderEnd) throw Error("an image that isn't a PNG takes no chunk");
  const std::string whole = big_endian(static_cast<std::uint32_t>(chunk.size() - 4)) + chunk + big_endian(check_sum(chunk));
  png.insert(kHeaderEnd, whole);
  return png;
}

/// The text after the mark.
std::optional<std::string> find_marked(std::string_view text) {
  const std::size_t mark = text.find(kMark);
  if (mark == std::string_view::npos) return std::nullopt;
  const std::size_t begin = mark + kMark.size(), end = text.find(kEnd, begin);
  if (end == std::string_view::npos) return std::nullopt;
  return from_base64(text.substr(begin, end - begin));
}

std::optional<std::string> session_of_png(std::string_view png) {
  constexpr std::size_t kAround = 12;  // length, kind and check sum of a chunk
  for (std::size_t at = kPngMagic.size(); at + kAround <= png.size();) {
    const std::size_t length = number_at(png, at);
    if (length > png.size() - at - kAround) return std::nullopt;
    const std::string_view chunk = png.substr(at + 4, 4 + length);
    const std::string_view text = chunk.substr(4);
    if (chunk.starts_with("tEXt") && text.starts_with(kKeyword) && text.size() > kKeyword.size() &&
        text[kKeyword.size()] == '\0' && check_sum(chunk) == number_at(png, at + 8 + length)) {
      return from_base64(text.substr(kKeyword.size() + 1));
    }
    at += kAround + length;
  }
  return std::nullopt;
}

/// Inflates the beginning of a deflated stream, as far as it is intact.
std::string inflated(std::string_view bytes) {
  z_stream stream{};
  std::string text;
  if (inflateInit(&stream) != Z_OK) return text;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib reads only
  stream.avail_in = static_cast<uInt>(std::min<std::size_t>(bytes.size(), kMaxInflated));
  std::string part(std::size_t{64} << 10, '\0');
  int state = Z_OK;
  while (state == Z_OK && text.size() < kMaxInflated) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    state = inflate(&stream, Z_NO_FLUSH);
    text.append(part, 0, part.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  return text;
}

/// Newer versions of the library that writes PDFs keep the keywords in a compressed stream.
std::optional<std::string> session_of_pdf(std::string_view pdf) {
  if (std::optional<std::string> session = find_marked(pdf)) return session;
  constexpr std::string_view kStream = "stream\n", kStreamEnd = "endstream";
  std::size_t left = kMaxInflated;
  // The next stream is looked for after the end of this one, so that each byte is searched once.
  for (std::size_t at = pdf.find(kStream); at != std::string_view::npos && left > 0;) {
    at += kStream.size();
    const std::size_t end = pdf.find(kStreamEnd, at);
    const std::string text = inflated(pdf.substr(at, end - at));
    if (std::optional<std::string> session = find_marked(text)) return session;
    if (end == std::string_view::npos) break;
    left -= std::min(left, text.size() + 1);
    at = pdf.find(kStream, end + kStreamEnd.size());
  }
  return std::nullopt;
}

}  // namespace

std::string marked_session(std::string_view session) { return std::string(kMark).append(base64(session)).append(kEnd); }

std::string png_with_session(std::string png, std::string_view session) {
  std::string chunk = "tEXt";
  chunk.append(kKeyword).append(1, '\0').append(base64(session));
  return with_chunk(std::move(png), chunk);
}

std::string png_with_text(std::string png, std::string_view keyword, std::string_view text) {
  // The chunk is text in UTF-8, not compressed, in no language: keyword, 0, flag, method, language, 0, translated
  // keyword, 0, text.
  std::string chunk = "iTXt";
  chunk.append(keyword).append(5, '\0').append(text);
  return with_chunk(std::move(png), chunk);
}

std::string png_with_resolution(std::string png, double dots_per_inch) {
  const std::string pixels_a_metre = big_endian(static_cast<std::uint32_t>(std::lround(dots_per_inch / 0.0254)));
  return with_chunk(std::move(png), "pHYs" + pixels_a_metre + pixels_a_metre + '\x01');
}

std::optional<std::string> session_of_figure(std::string_view file) {
  if (file.starts_with(kPngMagic)) return session_of_png(file);
  if (file.starts_with("%PDF-")) return session_of_pdf(file);
  return find_marked(file);
}

}  // namespace headlight::exporting
