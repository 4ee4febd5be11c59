import { describe, expect, test } from "vitest";
import { html, trusted } from "./html.ts";

describe("html", () => {
  test("escapes text in content and attributes", () => {
    const hostile = `"><script>alert('x')</script>&amp;`;
    expect(html`<a title="${hostile}">${hostile}</a>`.markup).not.toContain("<script>");
    expect(html`${hostile}`.markup).toBe("&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;amp;");
  });

  test("keeps nested markup, joins lists and drops what is absent", () => {
    expect(html`<ul>${["a<", "b"].map((item) => html`<li>${item}</li>`)}</ul>${undefined}${false}${0}`.markup).toBe(
      "<ul><li>a&lt;</li><li>b</li></ul>0",
    );
    expect(html`${trusted("<b>")}`.markup).toBe("<b>");
  });

  test("replaces control characters, which would make the file invalid", () => {
    expect(html`${"a\u0000b\u001bc\nd"}`.markup).toBe("a\ufffdb\ufffdc\nd");
  });
});
