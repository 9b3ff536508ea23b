const SECRET_KEYS = ['requirepass', 'masterauth', 'tls-key-file-pass', 'tls-client-key-file-pass'];

/** Whether the value of a setting is a secret as a whole. */
export const isSecretKey = (key: string): boolean => SECRET_KEYS.includes(key.toLowerCase());

/** Whether a value could hold a secret, also under a name that somebody misspelt: for where nothing is lost without it. */
export const mayBeSecret = (key: string): boolean => /pass|auth|user/i.test(key);
