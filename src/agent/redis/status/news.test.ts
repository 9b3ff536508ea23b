import { describe, expect, it } from 'vitest';
import { News } from './news.ts';

describe('news', () => {
  it('are told once, when they change, and again after they were over', () => {
    const news = new News();
    const told: string[] = [];
    const tell = (what: string): void => void told.push(what);
    for (const what of ['a', 'a', 'b', undefined, undefined, 'b', 'b']) news.about('role', what, tell);
    expect(told).toEqual(['a', 'b', 'b']);
    news.about('spec', 'b', tell);
    expect(told).toHaveLength(4);
  });
});
