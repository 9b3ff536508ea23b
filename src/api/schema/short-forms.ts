/** Fields that most tables have, in short. */
export const text = (description: string) => ({ type: 'string', description }) as const;
export const flag = (description: string) => ({ type: 'boolean', description }) as const;
export const count = (description: string) => ({ type: 'integer', description }) as const;
export const time = (description: string) => ({ type: 'string', format: 'date-time', description }) as const;
