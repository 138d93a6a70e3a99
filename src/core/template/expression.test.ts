import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { escapeText, expressionIn, unescapeText } from "./expression.ts";
import { openScope, resolveIn } from "./template-scope.ts";

const place = { subscriptionId: "S", resourceGroup: "rg1", location: "westeurope" };

const template = {
  parameters: {
    name: { type: "string", defaultValue: "orders" },
    tags: { type: "object", defaultValue: { Team: { Lead: "ann" } } },
    regions: { type: "array", defaultValue: ["eu", "us"] },
    count: { type: "int", defaultValue: 3 },
    secret: { type: "securestring" },
    odd: { type: "string", defaultValue: "[reference('x')]" },
    untyped: { defaultValue: 7 },
    size: { type: "string", defaultValue: "small", allowedValues: ["small", "large"] },
  },
  variables: {
    full: "[concat(parameters('name'), '-topic')]",
    round: "[variables('about')]",
    about: "[variables('round')]",
    doubled: "[concat(variables('long'), variables('long'))]",
    long: `[replace('${"x".repeat(64)}', 'x', variables('longer'))]`,
    longer: "[padLeft('', 10000, 'y')]",
    copy: [
      { name: "squares", count: 3, input: "[mul(copyIndex('squares'), copyIndex('squares'))]" },
      { name: "numbered", count: 2, input: "[concat('a', copyIndex('numbered', 1))]" },
    ],
  },
};

function resolve(text: string): unknown {
  const scope = openScope(template, { file: "main.json", place, parameters: new Map() });
  return resolveIn(scope, text, "here");
}

test("expressions of templates come to what ARM makes of them", () => {
  const table: [string, unknown][] = [
    ["plain", "plain"],
    ["[[not an expression]", "[not an expression]"],
    ["[not closed", "[not closed"],
    ["['it''s']", "it's"],
    ["[-5]", -5],
    ["[parameters('name')]", "orders"],
    ["[PARAMETERS('Name')]", "orders"],
    ["[parameters('tags').team.lead]", "ann"],
    ["[parameters('tags')['team'].lead]", "ann"],
    ["[parameters('tags').?none]", null],
    ["[parameters('regions')[1]]", "us"],
    ["[variables('full')]", "orders-topic"],
    ["[variables('squares')]", [0, 1, 4]],
    ["[concat('a', 1, true())]", "a1True"],
    ["[concat(parameters('regions'), createArray('asia'))]", ["eu", "us", "asia"]],
    ["[format('{0}/{1}-{{x}}', 'a', 2)]", "a/2-{x}"],
    ["[resourceId('Microsoft.EventGrid/topics', 'a')]", `${group("S", "rg1")}/topics/a`],
    ["[resourceId('rg2', 'Microsoft.EventGrid/topics', 'a')]", `${group("S", "rg2")}/topics/a`],
    [
      "[resourceId('T', 'rg2', 'Microsoft.EventGrid/domains/topics', 'd', 't')]",
      `${group("T", "rg2")}/domains/d/topics/t`,
    ],
    [
      "[extensionResourceId(resourceId('A.B/c', 'x'), 'Microsoft.EventGrid/eventSubscriptions', 'e')]",
      "/subscriptions/S/resourceGroups/rg1/providers/A.B/c/x/providers/Microsoft.EventGrid/eventSubscriptions/e",
    ],
    ["[subscriptionResourceId('A.B/c', 'x')]", "/subscriptions/S/providers/A.B/c/x"],
    ["[tenantResourceId('A.B/c', 'x')]", "/providers/A.B/c/x"],
    ["[subscription().subscriptionId]", "S"],
    ["[resourceGroup().location]", "westeurope"],
    ["[toLower(concat('A', toUpper('b')))]", "ab"],
    ["[if(equals(1, 1), 'yes', reference('never'))]", "yes"],
    ["[and(true(), not(false()), or(false(), true()))]", true],
    ["[empty('')]", true],
    ["[coalesce(null(), 'b')]", "b"],
    ["[union(createObject('a', 1), createObject('b', createArray()))]", { a: 1, b: [] }],
    ["[length(parameters('regions'))]", 2],
    ["[contains(parameters('tags'), 'team')]", true],
    ["[contains('orders', 'der')]", true],
    ["[first(parameters('regions'))]", "eu"],
    ["[last('abc')]", "c"],
    ["[last(parameters('regions'))]", "us"],
    ["[last(createArray())]", null],
    ["[parameters('untyped')]", 7],
    ["[tryGet(parameters('tags'), 'team').lead]", "ann"],
    ["[tryGet(parameters('tags'), 'none')]", null],
    ["[greaterOrEquals(2, 2)]", true],
    ["[greaterOrEquals(1, 2)]", false],
    ["[greater(2, 2)]", false],
    ["[lessOrEquals(2, 2)]", true],
    ["[less(2, 2)]", false],
    ["[join(split('a-b_c', createArray('-', '_')), '.')]", "a.b.c"],
    ["[substring('orders', 1, 3)]", "rde"],
    ["[startsWith('Orders', 'oRD')]", true],
    ["[startsWith('ord', 'orders')]", false],
    ["[padLeft('7', 3)]", "  7"],
    ["[padLeft('7', 3, '0')]", "007"],
    ["[length(range(0, 10000))]", 10_000],
    ["[range(5, 0)]", []],
    ["[parameters('size')]", "small"],
    ["[variables('numbered')]", ["a1", "a2"]],
    ["[take(skip('orders', 1), 2)]", "rd"],
    ["[add(parameters('count'), div(7, 2))]", 6],
    ["[min(3, 2)]", 2],
    ["[range(1, 3)]", [1, 2, 3]],
    ["[int('12')]", 12],
    ["[bool('true')]", true],
    ["[string(createArray(1))]", "[1]"],
    ["[json('{\"a\":[1]}').a[0]]", 1],
    ["[base64ToString(base64('ü'))]", "ü"],
    ["[uri('https://a.test/b/', 'c')]", "https://a.test/b/c"],
    ["[uriComponent('a b')]", "a%20b"],
    ["[items(createObject('b', 1, 'a', 2))[0].key]", "a"],
    ["[length(uniqueString('a'))]", 13],
    ["[equals(uniqueString('a'), uniqueString('b'))]", false],
  ];
  for (const [text, value] of table) assert.deepEqual(resolve(text), value, text);
});

function group(subscriptionId: string, name: string): string {
  return `/subscriptions/${subscriptionId}/resourceGroups/${name}/providers/Microsoft.EventGrid`;
}

test("what cannot be resolved is refused with its place, its text and the reason", () => {
  const table: [string, RegExp][] = [
    ["[reference('x').id]", /^main.json: here is \[reference\('x'\).id\], .*known to Azure alone$/],
    ["[listKeys('x', '2022').key1]", /listKeys\(\) is known to Azure alone/],
    ["[utcNow()]", /known to Azure alone/],
    ["[contoso.name()]", /there is no function contoso.name\(\) here/],
    ["[parameters('secret')]", /give it with --parameters secret=…/],
    ["[parameters('gone')]", /no parameter gone/],
    ["[parameters('__proto__')]", /no parameter __proto__/],
    ["[parameters('odd')]", /^main.json: parameters.odd.defaultValue is \[reference\('x'\)\]/],
    ["[variables('round')]", /asks for itself/],
    ["[variables('doubled')]", /too long/],
    ["[parameters('tags').none]", /there is no "none" in that object/],
    ["[concat('a']", /it ends too early/],
    ["[concat('a'.b]", /it ends too early/],
    ["[concat('a' 'b')]", /\) is missing/],
    ["[concat('a'),]", /, is not expected there/],
    ["[format('{1}', 'a')]", /knows no \{1\}/],
    ["[resourceId('Microsoft.EventGrid/topics')]", /as many names as it has types/],
    ["[copyIndex()]", /outside of its loop/],
    ["[add('a', 1)]", /argument 1 must be a number/],
    ["[add(1, 'a')]", /argument 2 must be a number/],
    ["[startsWith('a', 1)]", /argument 2 must be a text/],
    ["[join('a', ',')]", /argument 1 must be a list/],
    ["[not(1)]", /argument 1 must be true or false/],
    ["[range(0, 10001)]", /range\(\) makes at most 10000 numbers/],
    ["[range(0, -1)]", /range\(\) makes at most 10000 numbers/],
    ["[if(true(), 'yes')]", /if takes three arguments/],
    ["[resourceId('a', 'b', 'c', 'A.B/c', 'x')]", /a type such as .* is missing/],
    ["[div(1, 0)]", /divided by zero/],
    [`[${"concat(".repeat(100)}${")".repeat(100)}]`, /nested deeper/],
    ["[]", /it ends too early/],
  ];
  for (const [text, words] of table) {
    assert.throws(() => resolve(text), { code: "InvalidSetting", message: words }, text);
  }
});

test("a loop has as many rounds as ARM allows, and no more", () => {
  const rounds = (count: number) => {
    const variables = { copy: [{ name: "all", count, input: "[copyIndex('all')]" }] };
    const scope = openScope({ variables }, { file: "main.json", place, parameters: new Map() });
    return resolveIn(scope, "[length(variables('all'))]", "here");
  };
  assert.equal(rounds(800), 800);
  assert.throws(() => rounds(801), /must be a whole number from 0 to 800/);
});

test("a parameter that is given must be one of those that are allowed", () => {
  const sized = (text: string) => {
    const parameters = new Map([["size", { kind: "text", text } as const]]);
    const scope = openScope(template, { file: "main.json", place, parameters });
    return resolveIn(scope, "[parameters('size')]", "here");
  };
  assert.equal(sized("large"), "large");
  assert.throws(() => sized("huge"), /the parameter size must be one of small, large/);
  const tagged = (value: unknown) => {
    const parameters = new Map([["tags", { kind: "value", value } as const]]);
    const scope = openScope(template, { file: "main.json", place, parameters });
    return resolveIn(scope, "[parameters('tags')]", "here");
  };
  assert.deepEqual(tagged({ team: 1 }), { team: 1 });
  for (const wrong of ["text", 1, ["list"]]) {
    assert.throws(() => tagged(wrong), /the parameter tags must be an object/);
  }
});

test("any text survives being written into a template", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("[", "]", "a", "'") }), (text) => {
      const written = escapeText(text);
      assert.equal(expressionIn(written), null);
      assert.equal(unescapeText(written), text);
    }),
  );
});

test("no text at all makes the reader fail in another way than by refusing", () => {
  const sign = fc.constantFrom("[", "]", "(", ")", ".", ",", "'", "concat", "parameters", "1", " ");
  fc.assert(
    fc.property(fc.array(sign), (signs) => {
      try {
        resolve(`[${signs.join("")}]`);
      } catch (error) {
        assert.equal((error as { code?: string }).code, "InvalidSetting");
      }
    }),
  );
});
